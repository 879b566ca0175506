"""The recipe of Table 6 of XMULTI: which data each of the four models sees, and that encoders are adapted once."""

import re

from tiny_masked import save_masked_encoder

from dlfa_adapters.runs import read_run


def test_four_models_a_task(recipe, data, tmp_path, capsys, monkeypatch):
    folder, encoder = tmp_path / "four", tmp_path / "encoder"
    save_masked_encoder(encoder)
    for task in ("udpos", "panx", "pawsx"):
        (folder / task).mkdir(parents=True)
        for split in ("train", "dev", "test"):
            text = (data / "xtreme" / task / f"{split}-en.tsv").read_text("utf-8")
            more = "" if task == "pawsx" else "".join(f"{'ab' * n}\tX\n\n".replace("X", "O") for n in range(1, 25))
            for language in ("en", "de"):
                (folder / task / f"{split}-{language}.tsv").write_text(text + more * (task == "panx"), "utf-8")
    module, trained = recipe("paper/xmulti_table6"), []
    train = module.train
    monkeypatch.setattr(module, "train", lambda *args, **options: trained.append(options) or train(*args, **options))
    arguments = ["--data", folder, "--model", encoder, "--tasks", "ner", "--languages", "en", "de", "--tuning", "lora"]
    arguments += ["--epochs", 1, "--seeds", 1, "--adapt-steps", 1, "--max-length", 64, "--out", tmp_path / "out"]
    module.main([*map(str, arguments)])
    header, _, *lines = capsys.readouterr().out.splitlines()
    assert header == "| model, macro-F1 | en | de |"
    for line, name in zip(lines, ("cross", "+FA", "+DA", "+combined"), strict=True):
        assert re.fullmatch(rf"\| ner, {re.escape(name)} \| \d+\.\d \| \d+\.\d \|", line), line
    beside = f"pos={folder / 'udpos'},pawsx={folder / 'pawsx'}"
    adapted = str(tmp_path / "out" / "adapted-ner")
    asked = [(options["language"], options["aux"], options["model"]) for options in trained]
    assert asked == [
        ("en", None, str(encoder)), ("en", beside, str(encoder)), ("en", None, adapted), ("en", beside, adapted),
    ]  # fmt: skip
    run = read_run(tmp_path / "out" / "ner-combined-lora-0")
    assert "adapted to" in run.config["encoder"]["origin"]
    assert " in en, de, 1 steps" in run.config["encoder"]["origin"]
    module.main([*map(str, arguments)])
    assert len(trained) == 4  # from the runs that are there
    assert capsys.readouterr().out.splitlines()[2:] == lines

"""Fixtures for the heads: noise in freshly added weights, and a few training steps."""

import pytest
import torch


@pytest.fixture(scope="session")
def shake():
    """Move adapters and heads away from where they start, so that no two of them do the same by accident."""

    def add_noise(model, seed=1):
        generator = torch.Generator().manual_seed(seed)
        parts = ("adapters", "loras", "prefix", "prompt", "refts", "shared", "fusion", "heads")
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if any(part in name for part in parts):
                    parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
            for name, buffer in model.named_buffers():
                if name.endswith("running_mean"):
                    buffer.add_(torch.randn(buffer.shape, generator=generator) * 0.1)
        return model

    return add_noise


@pytest.fixture(scope="session")
def train():
    """Three steps of SGD on everything that can be trained, dropout and running statistics included."""

    def steps(model, batch, labels, count=3):
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
        model.train()
        for _ in range(count):
            optimizer.zero_grad()
            model(**batch, labels=labels).loss.backward()
            optimizer.step()
        return model.eval()

    return steps

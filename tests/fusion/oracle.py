"""Equations (1) to (4) of the DLFA paper (arXiv 2205.08497) in NumPy and float64, one sentence and token at a time.

Written from the equations, not from the package. A batch is a list of sentences, a sentence a list of vectors (E,);
`real[b][t]` says whether token t of sentence b counts in Pool and BN. Only the second lower layer onwards is not in
the paper: its step takes the result of the step before as L_2.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Conv:
    """C: a 1x1 convolution, so a linear map of each position."""

    weight: np.ndarray  # (out, in)
    bias: np.ndarray  # (out,)

    def __call__(self, v):
        out = np.zeros(len(self.bias))
        for o in range(len(self.bias)):
            out[o] = np.dot(self.weight[o], v) + self.bias[o]
        return out


@dataclass
class Norm:
    """BN: batch normalisation, or its two replacements."""

    kind: str  # batch, layer or none
    gamma: np.ndarray | None = None
    beta: np.ndarray | None = None
    running_mean: np.ndarray | None = None
    running_var: np.ndarray | None = None
    batches: int = 0
    momentum: float = 0.1
    eps: float = 1e-5

    def __call__(self, batch, real, train):
        if self.kind == "none":
            return batch
        if self.kind == "layer":
            return [[self._scale(v, v.mean(), ((v - v.mean()) ** 2).mean()) for v in sentence] for sentence in batch]
        mean, var = self.running_mean, self.running_var
        counted = [batch[b][t] for b in range(len(batch)) for t in range(len(batch[b])) if real[b][t]]
        n = len(counted)
        if train and n >= 2:
            mean = sum(counted) / n
            squares = sum((v - mean) ** 2 for v in counted)
            var = squares / n
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * squares / (n - 1)
            self.batches += 1
        return [[self._scale(v, mean, var) for v in sentence] for sentence in batch]

    def _scale(self, v, mean, var):
        return self.gamma * (v - mean) / np.sqrt(var + self.eps) + self.beta


@dataclass
class Branch:
    """(1) where `pooled`, (2) where not."""

    pooled: bool
    c1: Conv
    bn1: Norm
    c2: Conv
    bn2: Norm

    def __call__(self, w, real, train):
        if self.pooled:
            w, real = pool(w, real)
        x = [[self.c1(v) for v in sentence] for sentence in w]
        x = self.bn1(x, real, train)
        x = [[np.maximum(v, 0) for v in sentence] for sentence in x]
        x = [[self.c2(v) for v in sentence] for sentence in x]
        return self.bn2(x, real, train)


def pool(w, real):
    """The mean over the tokens that count, as a sentence of one token; a sentence without such a token counts not."""
    pooled, counts = [], []
    for sentence, flags in zip(w, real, strict=True):
        total, n = np.zeros(len(sentence[0])), 0
        for v, flag in zip(sentence, flags, strict=True):
            if flag:
                total, n = total + v, n + 1
        pooled.append([total / max(n, 1)])
        counts.append([n > 0])
    return pooled, counts


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def fuse(lower, upper, real, branches, gate, train):
    """(4), with AIF(W) of (3), or with its sigmoid alone where gate is `attention`."""
    w = [[(l1 + l2) / 2 for l1, l2 in zip(*pair, strict=True)] for pair in zip(lower, upper, strict=True)]
    scores = [branch(w, real, train) for branch in branches]
    fused = []
    for b in range(len(w)):
        sentence = []
        for t in range(len(w[b])):
            first, second = (
                score[b][0 if branch.pooled else t] for branch, score in zip(branches, scores, strict=True)
            )
            a = sigmoid(first + second)
            weight = w[b][t] * a if gate == "product" else a
            sentence.append(lower[b][t] * weight + upper[b][t] * (1 - weight))
        fused.append(sentence)
    return fused


def dlfa(lowers, upper, real, steps, gate, train):
    """Fuse the upper layer with each lower one in turn; `steps` has the two branches of each."""
    for lower, branches in zip(lowers, steps, strict=True):
        upper = fuse(lower, upper, real, branches, gate, train)
    return upper

"""Writes the result files of a run whose figures are known, for the page's test (docs/formats.md)."""
import json
import math
import pathlib
import random

WORDS = ("In the beginning was the word and every passage that stands beside another one tells what the other says "
         "of rivers kings numbers buffers locks devices and of the light").split()


def interval(estimate, half):
    return {"estimate": estimate, "low": estimate - half, "high": estimate + half}


def group(source, part, gain, kind, chunks, bytes_a_chunk):
    systems = {"baseline.k0.s0": 0.0, "off.k0.s0": -0.02, "on.k2.s0": gain, "random.k2.s0": -0.03, "leaked.k2.s0": 1.2,
               "counterpart_removed.k2.s0": 0.1 * gain}
    rows = [{"alpha": alpha, "chunks": int(chunks * share), "documents": 30, "bytes": 100, "is_too_few": alpha < 0.2,
             "random_over_off": interval(-0.01 * share, 0.005),
             "systems": [] if alpha < 0.2 else
             [{"column": c, "bits_per_byte": 2 - g * share, "gain": interval(g * share, 0.01 if g else 0)}
              for c, g in systems.items()]}
            for alpha, share in ((0.125, .1), (0.25, .3), (0.5, .5), (0.75, .8), (1.0, 1.0))]
    shifts = [{"shift": s, "alpha": a, "chunks": chunks, "documents": 40, "is_too_few": False, "reference_bits_per_byte": 2.0,
               "on_bits_per_byte": 2 - gain / (1 + s), "gain": interval(gain / (1 + s), 0.02)}
              for a in (0.5, 1.0) for s in (0, 1, 8, 32)]
    return {"source": source, "part": part, "documents": 40, "chunks": chunks, "bytes": bytes_a_chunk * chunks,
            "retrieval": {"queries": chunks, "share_with_neighbour": 1, "mean_distance": 4.5, "mean_overlap": 0.3},
            "filtered": rows, "shifts": shifts, "verdict": {"kind": kind, "sentence": f"retrieval is {kind} <here>."}}


def result(scale, bytes_a_chunk):
    groups = [("scripture", "", 0.3 * scale, "read", 900), ("manual", "", 0.1 * scale, "copied", 500),
              ("manual", "new", -0.01, "nothing", 100), ("all", "", 0.2 * scale, "mixed", 1400)]
    return {"split": "test", "reference": "baseline.k0.s0", "headline": "on.k2.s0",
            "columns": ["baseline.k0.s0", "off.k0.s0", "on.k2.s0", "random.k2.s0", "leaked.k2.s0",
                        "counterpart_removed.k2.s0", "on.k2.s1"],
            "groups": [group(*facts, bytes_a_chunk) for facts in groups],
            "notes": ["only the first 8 chunks of each document count"]}


def breakdown():
    def systems(gain):
        return [{"column": "off.k0.s0", "bits_per_byte": 2.0, "gain": interval(-0.01, 0.005), "nats": 1.0},
                {"column": "on.k2.s0", "bits_per_byte": 2 - gain, "gain": interval(gain, 0.01), "nats": 1.0}]

    parts = [{"from": 8 * i, "to": 8 * i + 7 if i < 7 else -1, "documents": 5, "tokens": 100, "bytes": 400,
              "is_too_few": i == 3, "systems": [] if i == 3 else systems(0.02 * i)} for i in range(8)]
    return {"format": "retro breakdown", "version": 1, "split": "test", "reference": "baseline.k0.s0",
            "partitions": [{"name": "position_in_chunk", "unit": "tokens", "source": source, "parts": parts}
                           for source in ("manual", "all")],
            "words": [{"source": "all", "words": 1000, "systems": [{"column": "on.k2.s0", "nats": 3.0, "perplexity": 33.25}]}],
            "windows": [], "database": [{"source": "all", "share": share, "chunks": 10, "bytes": 10,
                                         "systems": systems(share / 5)} for share in (0.1, 0.5, 1.0)]}


def knn():
    systems = [("baseline", "none", 0.0), ("baseline + kNN-LM", "exact", 0.05), ("RETRO", "none", 0.1),
               ("RETRO + kNN-LM", "exact", 0.12)]
    return {"format": "retro knn", "version": 1, "split": "test", "entries": 123456, "systems": [
        {"name": name, "distances": distances, "lambda": 0.1, "scale": 0.01, "validation_bits_per_byte": 2 - gain,
         "bits_per_byte": 2 - gain, "gain": interval(gain, 0.01 if gain else 0)} for name, distances, gain in systems]}


def questions():
    return {"format": "retro qa", "version": 1, "train_questions": 10, "test_questions": 2, "passages": 20,
            "recall_at": {"1": 0.5, "5": 1.0}, "systems": [{"name": "open book", "exact_match": 0.5, "f1": 0.625}],
            "answers": [{"id": "q1", "question": "What is <it>?", "answers": ["This", "That"],
                         "rank_of_telling_passage": 0, "predictions": {"open book": "This"}},
                        {"id": "q2", "question": "And now?", "answers": ["No"], "rank_of_telling_passage": -1,
                         "predictions": {"open book": "Yes"}}]}


def ablations():
    return {"format": "retro ablations", "version": 1, "title": "Ablations of a small model", "source": "all", "seeds": [1, 2],
            "paper_unit": "C4", "rows": [
                {"name": "full", "bits_per_byte": [2.0, 2.1], "mean": 2.05, "spread": 0.07, "difference": 0.0,
                 "difference_spread": 0.0, "paper": 0.822, "paper_difference": 0.0},
                {"name": "no query conditioning", "bits_per_byte": [2.1], "mean": 2.1, "spread": None, "difference": 0.1,
                 "difference_spread": None, "paper": 0.829, "paper_difference": 0.007}]}


def pieces(draw, count, is_scored):
    run = 0
    for _ in range(count):
        run = run + 1 if draw.random() < 0.7 else 0
        yield {"text": draw.choice(("", " ")) + draw.choice(WORDS), "run": run,
               "nats_off": draw.random() * 6 if is_scored else None, "nats_on": draw.random() * 5 if is_scored else None}


def chunk(draw, source, document, number):
    neighbours = [{"source": "database", "document": "d", "title": f"Passage {rank} of {document}/{number}",
                   "chunk_id": rank, "distance": 1.5 + rank, "chunk": list(pieces(draw, 64, False)),
                   "continuation": list(pieces(draw, 64, False)) if rank == 0 else []}
                  for rank in range(2 if number else 0)]
    return {"source": source, "part": "", "document": document, "title": f"Title of {document}", "chunk": number,
            "overlap": draw.random(), "pieces": list(pieces(draw, 64, True)), "neighbours": neighbours}


def examples(num_documents, chunks_each):
    draw = random.Random(7)
    return {"examples": [chunk(draw, "scripture" if d % 2 == 0 else "manual", f"document-{d}", n)
                         for d in range(num_documents) for n in range(chunks_each) if n != 2]}


def metrics(final):
    for step in range(1, 101):
        yield {"kind": "train", "step": step, "tokens": 20000 * step, "loss": final + 6 * math.exp(-step / 20),
               "seconds": step * 1.5}
        if step % 20 == 0:
            bits = {"bits_per_byte": final / 2 + math.exp(-step / 20)}
            yield {"kind": "validation", "step": step, "tokens": 20000 * step, "off": bits, "on": bits}


CONFIG = """directory: somewhere
corpus:
  sources:
    - name: scripture
      path: /text
    - name: manual
model:
  width: {width}
  layers: 4
train:
  steps: 100
knn:
  enabled: true
qa:
  questions: questions.jsonl
"""


def write_run(directory, num_documents=6, chunks_each=5, scale=1.0, width=128, bytes_a_chunk=64):
    """A run directory; a larger `num_documents` makes a larger page."""
    run = pathlib.Path(directory)
    for folder in ("eval", "training/retro", "training/baseline"):
        (run / folder).mkdir(parents=True)
    (run / "eval/result.json").write_text(json.dumps(result(scale, bytes_a_chunk)))
    (run / "eval/examples.json").write_text(json.dumps(examples(num_documents, chunks_each)))
    (run / "eval/knn.table.json").write_text(json.dumps(
        {"title": "Nearest-neighbour model", "about": "One table.", "columns": ["system", "bits per byte"],
         "rows": [["base", 2.0], ["kNN-LM", interval(1.9, 0.01)]]}))
    (run / "eval/breakdown.json").write_text(json.dumps(breakdown()))
    (run / "eval/knn.json").write_text(json.dumps(knn()))
    (run / "eval/qa.json").write_text(json.dumps(questions()))
    (run / "table.json").write_text(json.dumps(ablations()))
    (run / "config.yaml").write_text(CONFIG.format(width=width))
    for name, final in (("retro", 3.0), ("baseline", 3.2)):
        (run / f"training/{name}/metrics.jsonl").write_text("\n".join(json.dumps(line) for line in metrics(final)))
    (run / "sample.json").write_text(json.dumps(
        {"prompt": "In the beginning", "text": " was the word", "num_tokens": 4, "temperature": 0.8, "top_p": 0.95,
         "seed": 1, "retrieval": True, "neighbours": 1, "chunks": [
             {"chunk": 0, "num_prompt_tokens": 3, "text": [{"text": " was the word", "common": True}], "neighbours": [
                 {"source": "database", "title": "A passage", "document": "d", "distance": 1.0,
                  "text": [{"text": "In the beginning was", "common": True}], "continuation": []}]}]}))
    return run


def write_common_run(directory):
    """A run whose only chunk shares three tokens with the second half of its passage."""
    def piece(text, run):
        return {"text": text, "run": run, "nats_off": 2.0, "nats_on": 1.0}

    words = [piece("The", 0), piece(" river", 1), piece(" of", 2), piece(" kings", 3), piece(" rose", 0)]
    passage = [piece("A", 0), piece(" river", 1), piece(" of", 2), piece(" kings", 3), piece(" fell", 0)]
    example = {"source": "s", "part": "", "document": "d", "title": "T", "chunk": 1, "overlap": 0.6, "pieces": words,
               "neighbours": [{"source": "db", "title": "P", "distance": 1.0, "chunk": [piece("Before", 0)],
                               "continuation": passage}]}
    run = pathlib.Path(directory)
    (run / "eval").mkdir(parents=True)
    (run / "eval/examples.json").write_text(json.dumps({"examples": [example]}))
    return run

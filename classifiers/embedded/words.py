"""The words the policy reads by: what speaks of a result, of an own method, of a metric. General English of the
field.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

RESULT = re.compile(
    r"\b(outperform\w*|surpass\w*|exceed\w*|beats?|achiev\w+|attain\w*|reach\w*|obtain\w*|improv\w+|reduc\w+|increas\w+|lowers?"
    r"|boost\w*|yield\w*|cuts?|gains?|advantage|solves?|accelerat\w+|speed-?ups?|faster|better|higher|superior|best|comparable"
    r"|competitive|on par|match(?:es|ing)?|state[- ]of[- ]the[- ]art|sota|doubl\w+|halv\w+|save[sd]?|savings?"
    r"|outscor\w+|recover\w*"
    r"|preserv\w+|without (?:any )?loss|lossless\w*|fails?|struggles?|degrad\w+|worse|drops?|ris(?:e|es|ing)"
    r"|grow\w*)\b",
    re.IGNORECASE,
)
COMPARED = re.compile(
    r"\b(outperform\w*|surpass\w*|beats?|achiev\w*|attain\w*|improv\w+ (?:\w+ ){0,6}?(?:over|upon|by|compared|on)\b"
    r"|(?:new|set\w*|reach\w*|beyond|previous|prior|over|exceed\w*|current|match\w*) (?:an? "
    r"|the )?(?:\w+ ){0,2}(?:state[- ]of[- ]the[- ]art|sota)"
    r"|(?:higher|lower|better|faster|fewer|stronger|larger|smaller|greater) (?:\w+ ){0,5}?than"
    r"|no (?:\w+ )?(?:improvement|gain|benefit|difference)"
    r"|compared (?:with|to)|on par|comparable|consistently)\b",
    re.IGNORECASE,
)
FINDING = re.compile(
    r"\b(we (?:also |further |then |empirically |experimentally )?(?:find|show|demonstrate|observe|report|see"
    r"|estimate|verify|confirm)"
    r"|(?:results|experiments|evaluations?|findings|analys[ei]s|studies|study|benchmarks?) (?:\w+ ){0,6}?(?:show"
    r"|demonstrate|reveal|suggest|indicate|confirm|validate)s?"
    r"|our (?:results|findings|experiments|evaluations?|analys[ei]s))\b",
    re.IGNORECASE,
)
OWN = re.compile(r"\b(we|our|ours|this (?:paper|work|article)|the proposed)\b", re.IGNORECASE)
PROPOSES = re.compile(
    r"\b(?:we|paper|work|article)\b[^.]{0,40}?\b(?:propos|introduc|present|develop|call|term|name|describ|devis|design|giv|refer|dub|denot)\w*",
    re.IGNORECASE,
)
BACKGROUND = re.compile(
    r"\b(however|existing|prior|previous|recent(?:ly)?|traditional\w*|current|conventional)\b", re.IGNORECASE
)
DATASET_SIZE = re.compile(
    r"\b(largest|(?:consist|compris)\w* of (?:over |more than |about )?\d"
    r"|first (?:large|public|open|comprehensive)|(?:contain|compris|consist|cover"
    r"|includ)\w* (?:\w+ ){0,4}\d)",
    re.IGNORECASE,
)
ABLATED = re.compile(
    r"(\bw\s?/\s?o\b|\bwithout\b|\bno\b|\bminus\b|\bremov|\bablat|\bonly\b|^\s*[-−–]\s|\(-\)|✗|\bvariant\b|\breplac)",
    re.IGNORECASE,
)
ABLATION_TABLE = re.compile(
    r"\b(ablat\w*|sensitivity|hyper-?parameters?|effects? of|impact of|influence of|varying|different choices"
    r"|component\w*|design choices)\b",
    re.IGNORECASE,
)
NOT_RESULT = re.compile(
    r"\b(hyper-?parameters?|notation|symbols?|statistics|settings?|configurations? of|architectur\w+ (?:details"
    r"|of)|licen[cs]e\w*"
    r"|data ?sets? (?:statistics|details|overview|summary)|summary of|overview of|splits?\b|provenance|filters?"
    r"|number of param\w*|complexity|prompts?|examples? of|implementation details|specifications?"
    r"|(?:compar\w+|overview) (?:of|with|to|between)[^.]{0,60}\b(?:data ?sets?|corpora|corpus|benchmarks)"
    r"|data ?set comparison|taxonomy|annotat\w+ guidelines)\b",
    re.IGNORECASE,
)
EXPENSE = re.compile(
    r"(#|\bparam\w*|\bsize\b|\bflops?\b|\bmacs?\b|\bsteps?\b|\bnfe\b|\btokens?\b|\bdim(?:ension)?s?\b|\bepochs?\b|\biter\w*|\byear\b|\bcost\b"
    r"|\bmemory\b|\bbatch\b|\bseeds?\b|\blayers?\b|\bsamples?\b|\bimages\b|\bnumber of\b|\bcount\b|\btime\b"
    r"|\bgpu\w*|\bhours?\b|\bp-?values?\b|\bstd\b"
    r"|\blearning rate\b|\blr\b|\bwidth\b|\bdepth\b|\bshots?\b|\brank\b|\bhead\b|\btype\b)",
    re.IGNORECASE,
)
OURS = re.compile(r"\b(ours?|our (?:method|model|approach)|proposed|this (?:work|paper))\b|\(ours\)", re.IGNORECASE)

METRICS = (
    *(
        "accuracy",
        "error",
        "f1",
        "auroc",
        "auc",
        "auprc",
        "map",
        "map@50",
        "miou",
        "iou",
        "dice",
        "bleu",
        "rouge",
        "meteor",
        "cider",
        "spice",
    ),
    *(
        "perplexity",
        "ppl",
        "wer",
        "cer",
        "fid",
        "gfid",
        "rfid",
        "sfid",
        "is",
        "inception score",
        "psnr",
        "ssim",
        "lpips",
        "precision",
        "recall",
        "mrr",
    ),
    *(
        "ndcg",
        "hit rate",
        "exact match",
        "em",
        "pass@1",
        "pass@k",
        "win rate",
        "success rate",
        "reward",
        "return",
        "regret",
        "rmse",
        "mae",
        "mse",
    ),
    *(
        "nll",
        "elbo",
        "log-likelihood",
        "correlation",
        "spearman",
        "pearson",
        "r2",
        "latency",
        "throughput",
        "speedup",
        "speed-up",
        "score",
    ),
    *(
        "solved",
        "top-1",
        "top-5",
        "loss",
        "likelihood",
        "kl",
        "geneval",
        "clip score",
        "hallucination rate",
        "agreement",
        "kappa",
        "savings",
    ),
    *(
        "reduction",
        "memory",
        "bpd",
        "bits per dimension",
        "ece",
        "nmi",
        "ari",
        "gap",
        "gain",
        "distance",
        "rank",
        "runtime",
        "time",
        "coverage",
        "mean opinion score",
    ),
)
ALIASES = {
    "acc": "accuracy",
    "ppl": "perplexity",
    "mean absolute error": "mae",
    "mean squared error": "mse",
    "root mean squared error": "rmse",
    "root mean square error": "rmse",
    "character error rate": "cer",
    "word error rate": "wer",
    "expected calibration error": "ece",
    "speed-up": "speedup",
    "roc-auc": "auroc",
    "roc auc": "auroc",
    "mos": "mean opinion score",
    "success": "success rate",
    "successful": "success rate",
    "bits per dimension": "bpd",
    "error rate": "error",
}
"""Other spellings of one metric. The key is found in texts, the value is the metric."""
_ABBREVIATED = frozenset(
    """
    f1 auroc auc auprc bleu wer cer fid psnr ssim lpips mrr ndcg em rmse mae mse nll elbo r2 kl bpd ece nmi ari cider
    is
    """.split()  # noqa: SIM905
)
LOWER = re.compile(
    r"\b(error|loss|perplexity|ppl|wer|cer|fid|gfid|rfid|sfid|lpips|rmse|mae|mse|nll|latency|regret|distance|time|runtime|ece|bpd|kl|memory|cost"
    r"|divergence|deviation|hallucination\w*|toxicity|gap)\b",
    re.IGNORECASE,
)

_STOP = frozenset(
    """
    a an the of on in at to for from with by and or as is are was were be been it its this that these those we our
    ours us their they which while than then into over under between both each all any can may not no more most less
    least such using use used via per also only based new show shows results result method methods model models
    approach paper work task tasks data dataset datasets table figure test train training performance evaluation
    experiments set compared across different several how when where what one two three
    """.split()  # noqa: SIM905
)


@lru_cache(maxsize=4096)
def words(text: str) -> frozenset[str]:
    """The content words of a phrase, lower case, plural s dropped, hyphenated names also joined."""
    found = re.findall(r"[a-z0-9][a-z0-9@.+-]*[a-z0-9+]|[a-z0-9]", text.lower())
    plain = {w for token in found for w in (token, *token.split("-"), token.replace("-", ""))}
    return frozenset(w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in plain) - _STOP


@cache
def metric_pattern() -> re.Pattern[str]:
    names = sorted({*METRICS, *ALIASES}, key=len, reverse=True)
    return re.compile(r"(?<![\w-])(" + "|".join(re.escape(n) for n in names) + r")(?![\w])", re.IGNORECASE)


@lru_cache(maxsize=4096)
def metrics_in(text: str) -> tuple[str, ...]:
    """Metric names in a phrase, lower case and one name for each, in order, each once. Two-letter names only as
    written in capitals.
    """
    found = (m[0] for m in metric_pattern().finditer(text))
    kept = (f.lower() for f in found if len(f) > 2 or f.isupper())
    return tuple(dict.fromkeys(ALIASES.get(f, f) for f in kept))


def shown(metric: str) -> str:
    """A metric as a sentence prints it: abbreviations in capitals, words as words."""
    return {
        "top-1": "top-1 accuracy",
        "top-5": "top-5 accuracy",
        "solved": "share solved",
        "gfid": "gFID",
        "rfid": "rFID",
        "sfid": "sFID",
        "miou": "mIoU",
        "iou": "IoU",
        "map": "mAP",
    }.get(metric, metric.upper() if metric in _ABBREVIATED else metric)


def squeezed(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())

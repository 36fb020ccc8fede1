"""Parser of measures' names: those of apframe, trec_eval, ranx and ir_measures, and several in one text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from apframe.exceptions import ParameterError
from apframe.wording import same_name

_TREC_EVAL_RBP = 0.9  # the p of trec_eval 10's rbp
# case-insensitive, with any separators between words
_ALIASES = {
    "map": "AP", "gm_map": "GMAP", "gm_bpref": "GMBpref", "11pt_avg": "AP11", "iprec_at_recall": "IPrec", "recip_rank": "RR",
    "mrr": "RR", "precision": "P", "recall": "R", "r_precision": "Rprec", "f1": "F", "set_p": "SetP", "set_recall": "SetR",
    "set_relative_p": "SetP(relative=True)", "set_rel_p": "SetP(relative=True)", "set_f": "SetF", "set_map": "SetAP",
    "cmc": "Success", "hit": "Success", "hit_rate": "Success", "minp": "INP", "ndcg_burges": "nDCG(gain=exp)",
    "num_q": "NumQ", "num_rel": "NumRel", "num_ret": "NumRet", "num_rel_ret": "NumRelRet",
}  # fmt: skip
# parameters of ir_measures
_PARAMETERS = {"max_rel": "max_grade", "dcg": "gain"}
_GAINS = {"log2": "linear", "exp-log2": "exp"}
_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_OFFICIAL = ["num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"]
# names of trec_eval for several measures at once
_SEVERAL = {
    "ndcg_cut": [f"nDCG@{k}" for k in _CUTOFFS],
    "map_cut": [f"AP@{k}" for k in _CUTOFFS],
    "iprec_at_recall": [f"IPrec@{level / 10:g}" for level in range(11)],
}
_SEVERAL["official"] = [*_OFFICIAL, *_SEVERAL["iprec_at_recall"], *(f"P@{k}" for k in _CUTOFFS)]
_NOT_HERE = {
    "all_trec": "utility, G, binG, Rndcg, ndcg_rel, relative_P, Rprec_mult, relstring",
    "set": "utility",
}


def split(text: str) -> list[str]:
    """Split a text into names at blanks or commas; "ndcg_cut.10,20" means two, "official" means trec_eval's thirty.

    >>> split("ap, ndcg_cut.10,20 AP(rel=2, definition=normalized(5))@5")
    ['ap', 'ndcg_cut.10', 'ndcg_cut.20', 'AP(rel=2, definition=normalized(5))@5']
    >>> len(split("official"))
    29
    """
    # one name with several cut-offs
    text = re.sub(
        r"(?<![\w.@])([A-Za-z]\w*?(?:\([^()]*\))?[.@_])(\.?\d[.\d]*(?:,\.?\d[.\d]*)+)(?![\w.])",
        lambda match: ",".join(match[1] + cutoff for cutoff in match[2].split(",")),
        text,
    )
    # blanks and commas separate names, except inside brackets, which may be nested once: brackets after a separator are
    # balanced
    between = r"[\s,]+(?=(?:[^()]|\((?:[^()]|\([^()]*\))*\))*$)"
    names = [name for name in re.split(between, text.strip(" ,\n\t")) if name]
    for name in names:
        if name in _NOT_HERE:
            raise ParameterError(
                f"trec_eval's {name} has measures that apframe does not compute ({_NOT_HERE[name]})",
                "choose official or name the measures",
                option="measures",
            )
    return [each for name in names for each in _SEVERAL.get(name, [name])]


def parsed(text: str, kinds: Iterable[str]) -> tuple[str, float | None, tuple[tuple[str, Any], ...]]:
    """Parse one measure into name, cut-off and parameters; a name in `kinds` is spelled as there.

    >>> parsed("set_F.2", ["SetF"]), parsed("ndcg_cut_10", ["nDCG"])
    (('SetF', None, (('x', 2),)), ('nDCG', 10.0, ()))
    """
    parts = re.fullmatch(r"\s*(\w+(?:-\w+)*?)\s*(?:\((.*)\))?\s*(?:@\s*([-+.\w]+))?\s*", _respelled(text))
    if parts is None:
        raise ParameterError(f'{text!r} is not a measure, such as "nDCG@10" or "AP(rel=2)"')
    name, items, cutoff = parts.groups()
    names = {each: each for each in kinds} | _ALIASES
    name, _, fixed = names.get(same_name(name, names) or "", name).partition("(")
    parameters = [_parameter(text, item) for item in filter(None, (items or "").split(","))]
    if fixed:
        parameters.append(_parameter(text, fixed.removesuffix(")")))
    if parts[1] == "rbp" and "p" not in dict(parameters):
        parameters.append(("p", _TREC_EVAL_RBP))
    if name == "NumRet" and "rel" in dict(parameters):  # as in ir_measures
        name = "NumRelRet"
    try:
        return name, None if cutoff is None else float(cutoff), tuple(parameters)
    except ValueError:
        raise ParameterError(f"{text!r}: the cut-off after @ must be a number, not {cutoff!r}") from None


def _respelled(text: str) -> str:
    """Rewrite numbers that other tools join to the name as a cut-off or a parameter."""
    text = re.sub(r"^\s*rbp\.(\d+)\s*$", r"rbp(p=0.\1)", text)  # as in ranx
    text = re.sub(r"^\s*set_F[._](\d[.\d]*)\s*$", r"set_F(x=\1)", text)
    return re.sub(r"^(\s*[a-zA-Z_]+?)(?:_cut)?[._](\.?\d[.\d]*)\s*$", r"\1@\2", text)  # ndcg_cut_10, P.5, iprec_at_recall_0.10


def _parameter(text: str, item: str) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in item.partition("="))
    if not equals:
        raise ParameterError(f"{text!r}: write parameters as name=value, not {item.strip()!r}")
    worth = _value(value)
    return _PARAMETERS.get(key, key), _GAINS.get(worth, worth) if key == "dcg" else worth


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("\"'")

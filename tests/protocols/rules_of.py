"""Protocols with other rules than published, for tests."""

from __future__ import annotations

from dataclasses import replace

from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.rule import Rule


def classes_of(protocol: Protocol) -> Classes:
    """The classes of a protocol that has some."""
    classes = protocol.rule(Classes)
    assert classes is not None
    return classes


def adding(protocol: Protocol, *rules: Rule) -> Protocol:
    """The protocol with further rules, which come last."""
    return replace(protocol, rules=(*protocol.rules, *rules))


def exchanging(protocol: Protocol, kind: type[Rule], *rules: Rule) -> Protocol:
    """The protocol with other rules in place of those of a class."""
    at = next(number for number, rule in enumerate(protocol.rules) if isinstance(rule, kind))
    return replace(protocol, rules=(*protocol.rules[:at], *rules, *protocol.rules[at + 1 :]))

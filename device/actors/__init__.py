"""Actors on asyncio: mailboxes, supervision, the clock, and the window work may run in."""

from device.actors.actor import Actor, PromptActor, Request
from device.actors.clock import Clock, LoopClock, SystemClock
from device.actors.errors import ActorError, ActorStopped, DomainError, Fault, MailboxFull
from device.actors.system import ActorRef, ActorSystem
from device.actors.window import Conditions, Outcome, Window, checkpoint

__all__ = [
    "Actor",
    "ActorError",
    "ActorRef",
    "ActorStopped",
    "ActorSystem",
    "Clock",
    "Conditions",
    "DomainError",
    "Fault",
    "LoopClock",
    "MailboxFull",
    "Outcome",
    "PromptActor",
    "Request",
    "SystemClock",
    "Window",
    "checkpoint",
]

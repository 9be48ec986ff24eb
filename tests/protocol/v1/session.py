"""A sync session as two state machines that do no I/O: bytes in, events and bytes out.

The same machines run under a socket, in the simulator's virtual network and in the fuzzer. Each
end offers ``receive(frame) -> [event]``, ``frames_to_send() -> [frame]`` and ``closed``.

Client (``ClientSession``):

    ========== =============================== ============================== ==========
    state      receives                        does                           next
    ========== =============================== ============================== ==========
    IDLE       (start)                         sends Hello [, Enrol]          GREETED
    GREETED    Enrolled (only when enrolling)  event Enrolled                 GREETED
    GREETED    Challenge                       signs, sends Prove             PROVING
    PROVING    Plan                            event PlanReceived             OPEN
    OPEN       UploadAccept, UploadAck         sends chunks; when committed,  OPEN
                                               event UploadCommitted
    OPEN       ReleaseBlob                     at the end ReleaseReceived     OPEN
    OPEN       Refusal, not fatal              UploadRefused / FetchRefused   OPEN
    any        Refusal, fatal                  event Closed(code)             CLOSED
    any        Bye                             event Closed(reason)           CLOSED
    OPEN       (finish)                        sends Bye                      CLOSED
    any        anything else                   sends Bye, SessionFailed       CLOSED
    ========== =============================== ============================== ==========

Server (``ServerSession``); a state in parentheses waits for its owner's answer, and a client that
speaks meanwhile breaks the protocol:

    ============ ============================= ============================== ============
    state        receives / is told            does                           next
    ============ ============================= ============================== ============
    GREETING     Hello, no id                  waits                          ENROLLING
    GREETING     Hello, with id                sends Challenge                PROVING
    ENROLLING    Enrol                         event EnrolRequested           (ADMITTING)
    (ADMITTING)  accept_enrol                  sends Enrolled, Challenge      PROVING
    PROVING      Prove                         event ProofOffered             (ADMITTING)
    (ADMITTING)  admit                         sends Plan                     OPEN
    OPEN         UploadBegin                   event UploadOffered            OPEN
    OPEN         UploadChunk                   acks; whole: UploadReceived    OPEN
    OPEN         Fetch                         event FetchRequested           OPEN
    any          refuse(fatal)                 sends Refusal                  CLOSED
    any          Bye                           event Closed                   CLOSED
    any          anything else                 sends Refusal, SessionFailed   CLOSED
    ============ ============================= ============================== ============

One upload and one fetch are in progress at a time. Nothing of a session survives it: a client
whose connection breaks offers the same upload again from its outbox, and the server answers
``committed`` at once when it already has it.
"""

from tests.protocol.v1.session_client import ClientSession
from tests.protocol.v1.session_core import MAX_SESSION_BYTES, MAX_UPLOAD, Event
from tests.protocol.v1.session_events import (
    Closed,
    Enrolled,
    EnrolRequest,
    EnrolRequested,
    FetchRefused,
    FetchRequested,
    PlanReceived,
    ProofOffered,
    ReleaseReceived,
    SessionFailed,
    UploadCommitted,
    UploadOffered,
    UploadReceived,
    UploadRefused,
)
from tests.protocol.v1.session_server import ServerSession

__all__ = [
    "MAX_SESSION_BYTES",
    "MAX_UPLOAD",
    "ClientSession",
    "Closed",
    "EnrolRequest",
    "EnrolRequested",
    "Enrolled",
    "Event",
    "FetchRefused",
    "FetchRequested",
    "PlanReceived",
    "ProofOffered",
    "ReleaseReceived",
    "ServerSession",
    "SessionFailed",
    "UploadCommitted",
    "UploadOffered",
    "UploadReceived",
    "UploadRefused",
]

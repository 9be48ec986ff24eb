"""A sync session as two state machines that do no I/O: bytes in, events and bytes out.

The same machines run under a socket, in the simulator's virtual network and in the fuzzer. Each
end offers ``receive(frame) -> [event]``, ``frames_to_send() -> [frame]`` and ``closed``.

Client (``ClientSession``):

    ========== =============================== ============================== ==========
    state      receives                        does                           next
    ========== =============================== ============================== ==========
    IDLE       (start)                         sends Hello [, Enrol]          GREETED
    GREETED    Enrolled (only when enrolling)  keeps the name for now         GREETED
    GREETED    Challenge                       checks the server's identity;  PROVING
                                               event Enrolled (if new);
                                               signs, sends Prove
    PROVING    Plan, whole                     event PlanReceived             OPEN
    PROVING    Plan, more to come (2)          keeps it                       PLANNING
    PLANNING   Metadata (2)                    adds it; whole: PlanReceived   PLANNING,
                                                                              OPEN
    OPEN       UploadAccept, UploadAck         sends chunks from where the    OPEN
                                               server stands; when committed,
                                               event UploadCommitted
    OPEN       ReleaseBlob                     at the end ReleaseReceived     OPEN
    OPEN       Mail (2)                        letter whole: MailReceived     OPEN
    OPEN       Refusal, not fatal              UploadRefused / FetchRefused / OPEN
                                               CollectRefused
    any        Refusal, fatal                  event Closed(code, wait)       CLOSED
    any        Bye                             event Closed(reason, wait)     CLOSED
    OPEN       (finish)                        sends Bye                      CLOSED
    any        anything else                   sends Bye, SessionFailed       CLOSED
    ========== =============================== ============================== ==========

Server (``ServerSession``); a state in parentheses waits for its owner's answer, and a client that
speaks meanwhile breaks the protocol:

    ============ ============================= ============================== ============
    state        receives / is told            does                           next
    ============ ============================= ============================== ============
    GREETING     Hello, no id                  waits                          ENROLLING
    GREETING     Hello, with id                sends Challenge, signed (2)    PROVING
    ENROLLING    Enrol                         event EnrolRequested           (ADMITTING)
    (ADMITTING)  accept_enrol                  sends Enrolled, Challenge      PROVING
    PROVING      Prove                         event ProofOffered             (ADMITTING)
    (ADMITTING)  admit                         sends Plan [, Metadata… (2)]   OPEN
    OPEN         UploadBegin                   event UploadOffered            OPEN
    OPEN         accept_upload                 sends UploadAccept: from what  OPEN
                                               is held, or committed
    OPEN         UploadChunk                   acks; event UploadProgressed,  OPEN
                                               or whole: UploadReceived
    OPEN         Fetch                         event FetchRequested           OPEN
    OPEN         Collect (2)                   event CollectRequested         OPEN
    any          refuse(fatal)                 sends Refusal                  CLOSED
    any          finish                        sends Bye with a wait (2)      CLOSED
    any          Bye                           event Closed                   CLOSED
    any          anything else                 sends Refusal, SessionFailed   CLOSED
    ============ ============================= ============================== ============

Versions. The server picks the highest that both speak; what is marked (2) is neither sent nor
taken in a session of version 1, whose frames stay byte for byte what they were. Until a version is
agreed both ends write what every version reads. From version 2 on the server proves first that it
holds the pinned cloud key, over both nonces, the versions offered and the TLS channel; only then
does the client prove its own.

One upload is in progress at a time, and one request (a fetch or a collect). Nothing of a session
survives it in these machines: a client whose connection breaks offers the same upload again from
its outbox, and the server answers ``committed`` at once when it has it, or the offset up to which
its owner has kept it. The hash of the whole decides, whoever kept which part. A receipt comes with
``committed`` and never without; what it says is checked by the owner, not here.
"""

from protocol.session_client import ClientSession
from protocol.session_core import MAX_SESSION_BYTES, MAX_UPLOAD, Event
from protocol.session_events import (
    Closed,
    CollectRefused,
    CollectRequested,
    Enrolled,
    EnrolRequest,
    EnrolRequested,
    FetchRefused,
    FetchRequested,
    MailReceived,
    PlanReceived,
    ProofOffered,
    ReleaseReceived,
    SessionFailed,
    UploadCommitted,
    UploadOffered,
    UploadProgressed,
    UploadReceived,
    UploadRefused,
)
from protocol.session_server import ServerSession

__all__ = [
    "MAX_SESSION_BYTES",
    "MAX_UPLOAD",
    "ClientSession",
    "Closed",
    "CollectRefused",
    "CollectRequested",
    "EnrolRequest",
    "EnrolRequested",
    "Enrolled",
    "Event",
    "FetchRefused",
    "FetchRequested",
    "MailReceived",
    "PlanReceived",
    "ProofOffered",
    "ReleaseReceived",
    "ServerSession",
    "SessionFailed",
    "UploadCommitted",
    "UploadOffered",
    "UploadProgressed",
    "UploadReceived",
    "UploadRefused",
]

CREATE TABLE aggregates (
    id INTEGER NOT NULL,
    task VARCHAR(16) NOT NULL,
    round INTEGER NOT NULL,
    base_version INTEGER NOT NULL,
    n INTEGER NOT NULL,
    scale INTEGER NOT NULL,
    clip FLOAT NOT NULL,
    sigma FLOAT NOT NULL,
    total BLOB NOT NULL,
    estimates JSON NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT one_aggregate_per_round UNIQUE (task, round)
);
CREATE TABLE devices (
    device_id VARCHAR(32) NOT NULL,
    public_key BLOB NOT NULL,
    enrolled FLOAT NOT NULL,
    revoked FLOAT,
    PRIMARY KEY (device_id)
);
CREATE TABLE events (
    id INTEGER NOT NULL,
    "key" VARCHAR(128) NOT NULL,
    at FLOAT NOT NULL,
    kind VARCHAR(32) NOT NULL,
    detail JSON NOT NULL,
    PRIMARY KEY (id),
    UNIQUE ("key")
);
CREATE TABLE releases (
    id INTEGER NOT NULL,
    model VARCHAR(16) NOT NULL,
    version INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    status VARCHAR(16) NOT NULL,
    reason TEXT NOT NULL,
    aggregate INTEGER,
    parameters VARCHAR(64) NOT NULL,
    sha256 BLOB NOT NULL,
    manifest BLOB,
    metrics JSON NOT NULL,
    epsilon FLOAT NOT NULL,
    delta FLOAT NOT NULL,
    created FLOAT NOT NULL,
    published FLOAT,
    PRIMARY KEY (id),
    CONSTRAINT one_release_per_version UNIQUE (model, version),
    UNIQUE (aggregate)
);
CREATE INDEX releases_by_status ON releases (model, status);
CREATE TABLE rounds (
    task VARCHAR(16) NOT NULL,
    round INTEGER NOT NULL,
    status VARCHAR(16) NOT NULL,
    reason TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    scale INTEGER NOT NULL,
    clip FLOAT NOT NULL,
    sigma FLOAT NOT NULL,
    n_min INTEGER NOT NULL,
    base_version INTEGER NOT NULL,
    opens FLOAT NOT NULL,
    closes FLOAT NOT NULL,
    budget VARCHAR(16) NOT NULL,
    descriptor BLOB NOT NULL,
    reports INTEGER NOT NULL,
    ended FLOAT,
    PRIMARY KEY (task, round)
);
CREATE TABLE tokens (
    sha256 VARCHAR(64) NOT NULL,
    created FLOAT NOT NULL,
    expires FLOAT NOT NULL,
    device_id VARCHAR(32),
    used FLOAT,
    PRIMARY KEY (sha256)
);
CREATE TABLE uploads (
    upload_id BLOB NOT NULL,
    device_id VARCHAR(32) NOT NULL,
    task VARCHAR(16) NOT NULL,
    round INTEGER NOT NULL,
    report_id BLOB NOT NULL,
    sha256 BLOB NOT NULL,
    body BLOB NOT NULL,
    received FLOAT NOT NULL,
    PRIMARY KEY (upload_id),
    CONSTRAINT one_report_per_device_and_round UNIQUE (device_id, task, round),
    CONSTRAINT one_report_id_per_round UNIQUE (task, round, report_id)
);
INSERT INTO uploads (upload_id, device_id, task, round, report_id, sha256, body, received)
VALUES (x'0a', 'phone', 'usage', 1, x'02', x'03', x'01', 1.0);

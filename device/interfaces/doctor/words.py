"""What the doctor says, in English and Chinese: what was seen, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["words"]

Pair = tuple[str, str]
"""(English, Chinese)"""
NOTHING: Pair = ("", "")

_WORDS: Mapping[str, tuple[Pair, Pair]] = {
    "late": (
        ("this check did not end within {seconds} s", "这项检查 {seconds} 秒内没有结束"),
        ("look for a disk or network that hangs", "检查是否有磁盘或网络卡住"),
    ),
    "broken": (
        ("this check itself failed ({kind})", "这项检查本身失败（{kind}）"),
        ("report this line", "请反馈这一行"),
    ),
    # place
    "folder fine": (("a phone lives here", "这里有一台手机"), NOTHING),
    "readable": (
        ("others on this machine may read or enter: {names}", "本机其他用户可读取或进入：{names}"),
        ("run `chmod -R go-rwx` on the phone's folder", "对手机文件夹运行 `chmod -R go-rwx`"),
    ),
    "not ours": (
        ("another user owns: {names}", "属于其他用户：{names}"),
        (
            "run the phone as that user, or `chown -R` its folder to yourself",
            "用那个用户运行，或把文件夹 `chown -R` 给自己",
        ),
    ),
    "permissions fine": (("only its owner can read it", "只有所有者可读"), NOTHING),
    "space fine": (("{mb} MB free", "剩余 {mb} MB"), NOTHING),
    "space low": (
        ("{mb} MB free: it stops at 50", "剩余 {mb} MB：少于 50 MB 就会停止"),
        ("free some space", "清理一些空间"),
    ),
    "space out": (
        ("{mb} MB free: too little to work", "剩余 {mb} MB：不足以工作"),
        ("free some space; what is stored is safe", "清理一些空间；已存的内容是安全的"),
    ),
    "inodes out": (
        ("the file system takes no more files", "文件系统不能再建文件"),
        (
            "delete files you do not need; what is stored is safe",
            "删除不需要的文件；已存的内容是安全的",
        ),
    ),
    "write fine": (("a write survives (fsync works)", "写入可持久（fsync 正常）"), NOTHING),
    "write failed": (
        ("nothing can be written: {why}", "无法写入：{why}"),
        (
            "free some space, or mount the folder's file system writable",
            "清理空间，或以可写方式挂载该文件系统",
        ),
    ),
    # keys
    "key passphrase": (("a passphrase keeps the secret", "由口令保管密钥"), NOTHING),
    "key os-keyring": (("the system's keyring keeps the secret", "由系统钥匙串保管密钥"), NOTHING),
    "key termux": (("a key in the phone's secure hardware", "密钥在手机的安全硬件中"), NOTHING),
    "key soft": (
        (
            "the phone's keystore keeps the secret, but not in secure hardware",
            "密钥在手机的密钥库中，但不在安全硬件里",
        ),
        (
            "`reverie-device rotate-keys --to passphrase` is stronger",
            "`reverie-device rotate-keys --to passphrase` 更安全",
        ),
    ),
    "key keyfile": (
        (
            "the secret lies in a file beside the memory: whoever copies the folder can read it",
            "密钥就在记忆旁边的文件里：谁复制文件夹谁就能读",
        ),
        (
            "run `reverie-device rotate-keys --to passphrase` (or os-keyring, termux)",
            "运行 `reverie-device rotate-keys --to passphrase`（或 os-keyring、termux）",
        ),
    ),
    "key gone": (
        ("the secret is not to be had: {why}", "拿不到密钥：{why}"),
        ("give it, or restore the phone's folder from a backup", "提供密钥，或从备份恢复文件夹"),
    ),
    # store
    "store fine": (
        ("{logs} sealed logs open, {records} records", "{logs} 个加密日志可读，{records} 条记录"),
        NOTHING,
    ),
    "store empty": (("nothing was stored yet", "还没有存过内容"), NOTHING),
    "store torn": (
        ("{bytes} bytes of a write that was cut off", "有 {bytes} 字节是中断的写入"),
        (
            "nothing: the next start drops them; what was acknowledged is whole",
            "不用管：下次启动会丢弃；已确认的内容完整",
        ),
    ),
    "store damaged": (
        ("damaged: {names}", "损坏：{names}"),
        (
            "restore the folder from a backup; `reverie-device export` saves what can be read",
            "从备份恢复文件夹；`reverie-device export` 可救出能读的内容",
        ),
    ),
    "store shut": (
        ("the sealed store does not open: {why}", "加密存储打不开：{why}"),
        (
            "give the right passphrase or key, or restore a backup",
            "提供正确的口令或密钥，或恢复备份",
        ),
    ),
    "store unread": (
        ("not looked into: the secret is not at hand", "没有检查：没有密钥"),
        (
            "set REVERIE_PASSPHRASE, or run it on a terminal",
            "设置 REVERIE_PASSPHRASE，或在终端上运行",
        ),
    ),
    # budget
    "budget fine": (
        ("{left:.0%} of the year's privacy budget is left", "本年隐私预算还剩 {left:.0%}"),
        NOTHING,
    ),
    "budget out": (
        ("this year's privacy budget is used up: {names}", "本年隐私预算已用完：{names}"),
        (
            "nothing: reports go on when the oldest of the year are past",
            "不用管：等最早的报告满一年就会继续",
        ),
    ),
    "budget demo": (
        ("the demo budget protects nobody", "演示预算不保护任何人"),
        (
            "`reverie-device init --budget production` in a new folder",
            "在新文件夹运行 `reverie-device init --budget production`",
        ),
    ),
    "ledger suspicious": (
        (
            "the privacy ledger looks restored or copied ({why})",
            "隐私账本像是恢复或复制来的（{why}）",
        ),
        (
            "keep one copy only; the next report settles it at the cost of the year's rest",
            "只保留一份；下次报告会以本年剩余预算为代价了结",
        ),
    ),
    "ledger quarantined": (
        (
            "the privacy ledger was in quarantine ({why}): no report for a year from then",
            "隐私账本曾被隔离（{why}）：自那时起一年内不报告",
        ),
        ("nothing: it ends by itself", "不用管：到期自动结束"),
    ),
    "ledger corrupt": (
        ("the privacy ledger does not hold", "隐私账本校验失败"),
        (
            "nothing leaves this phone; run `reverie-audit ledger` on its folder and report it",
            "不会再发送任何内容；对文件夹运行 `reverie-audit ledger` 并反馈",
        ),
    ),
    # life
    "daemon fine": (("a daemon runs and answers", "守护进程在运行并有回应"), NOTHING),
    "daemon none": (
        ("no daemon runs: nothing is done while nobody asks", "没有守护进程：无人操作时什么也不做"),
        (
            "run `reverie-device run`, or install the service in deploy/",
            "运行 `reverie-device run`，或安装 deploy/ 中的服务",
        ),
    ),
    "daemon by job": (("none now: Android's job starts it", "现在没有：由系统任务启动"), NOTHING),
    "daemon mute": (
        ("a process holds the store but does not answer", "有进程占用存储但没有回应"),
        (
            "end that process (`fuser` on the vault/lock file names it), then start it again",
            "结束该进程（对 vault/lock 运行 `fuser` 可查到），再重新启动",
        ),
    ),
    # cloud
    "cloud none": (("no cloud: this phone works alone", "没有云端：单机工作"), NOTHING),
    "cloud fine": (
        ("{host} answers and is the cloud it trusts", "{host} 有回应，是所信任的云端"),
        NOTHING,
    ),
    "cloud away": (
        ("no cloud answers at {host}", "{host} 没有云端回应"),
        (
            "see whether this machine is online, and ask the operator whether the cloud runs",
            "检查本机网络，并询问运营者云端是否在运行",
        ),
    ),
    "cloud strange": (
        ("what answers at {host} is no Reverie cloud", "{host} 的回应不是 Reverie 云端"),
        (
            "check cloud_url in device.toml; a captive portal answers like this too",
            "检查 device.toml 的 cloud_url；认证门户也会这样",
        ),
    ),
    "cloud other": (
        (
            "{host} shows another key than the one this phone trusts",
            "{host} 的密钥不是本机所信任的",
        ),
        (
            "send nothing; ask the operator by another way whether the key is meant to change",
            "不要发送；通过其他途径向运营者确认密钥是否变更",
        ),
    ),
    "cloud not ready": (
        ("{host} takes no phones just now", "{host} 目前不接待手机"),
        ("wait: the phone tries again by itself", "等待：手机会自行重试"),
    ),
    "clock fine": (("{seconds:.0f} s off {by}", "与{by}相差 {seconds:.0f} 秒"), NOTHING),
    "clock off": (
        ("this machine's clock is {seconds:.0f} s off {by}", "本机时钟与{by}相差 {seconds:.0f} 秒"),
        (
            "set the clock (`timedatectl set-ntp true`; on a phone: automatic time)",
            "校准时钟（`timedatectl set-ntp true`；手机：自动时间）",
        ),
    ),
    "clock back": (
        (
            "this machine's clock is {seconds:.0f} s behind what was stored already",
            "本机时钟比已存内容晚了 {seconds:.0f} 秒",
        ),
        ("set the clock; memories of meanwhile have wrong dates", "校准时钟；其间的记忆日期有误"),
    ),
    "clock alone": (("nothing to compare it with", "没有可比对的时间"), NOTHING),
    "the cloud": (("the cloud's", "云端"), NOTHING),
    "tls none": (("no TLS: the cloud is on this machine", "没有 TLS：云端就在本机"), NOTHING),
    "tls missing": (
        ("no TLS on the way to {host}", "到 {host} 没有 TLS"),
        ("ask the operator for an https address", "向运营者索取 https 地址"),
    ),
    "tls fine": (("certificate good for {days:.0f} days", "证书还有 {days:.0f} 天"), NOTHING),
    "tls soon": (
        ("the cloud's certificate ends in {days:.0f} days", "云端证书还有 {days:.0f} 天到期"),
        ("tell its operator", "告知运营者"),
    ),
    "tls expired": (
        (
            "the cloud's certificate has expired, or this clock is wrong",
            "云端证书已过期，或本机时钟有误",
        ),
        ("check the clock, then tell the operator", "先检查时钟，再告知运营者"),
    ),
    "tls refused": (
        ("the cloud's certificate does not hold ({why})", "云端证书无效（{why}）"),
        (
            "a private authority goes into SSL_CERT_FILE; else ask the operator, and send nothing",
            "私有机构的证书放入 SSL_CERT_FILE；否则询问运营者，不要发送",
        ),
    ),
    # versions
    "versions": (
        (
            "reverie {app}, protocol {protocol}, Python {python} on {system}",
            "reverie {app}，协议 {protocol}，Python {python}，{system}",
        ),
        NOTHING,
    ),
    "packages fine": (("{names}", "{names}"), NOTHING),
    "packages old": (
        ("missing or too old: {names}", "缺少或过旧：{names}"),
        (
            "install them again: pip install --upgrade reverie",
            "重新安装：pip install --upgrade reverie",
        ),
    ),
    "protocol apart": (
        (
            "the cloud speaks protocol {theirs}, this phone {ours}",
            "云端使用协议 {theirs}，本机 {ours}",
        ),
        ("upgrade whichever is older", "升级较旧的一方"),
    ),
    "protocol fine": (
        (
            "the cloud runs {version} and speaks protocol {theirs}",
            "云端版本 {version}，协议 {theirs}",
        ),
        NOTHING,
    ),
    "service keyless": (
        (
            "the {what} service has no key: {variable} is not set",
            "{what} 服务没有密钥：未设置 {variable}",
        ),
        ("set that environment variable where the phone is started", "在启动手机处设置该环境变量"),
    ),
    # senses
    "condition yes": (("yes", "是"), NOTHING),
    "condition no": (("no", "否"), NOTHING),
    "condition unknown": (
        ("unknown, which counts as no", "未知，按“否”处理"),
        (
            "give --conditions a script, or --adb a phone",
            "用 --conditions 给出脚本，或用 --adb 指定手机",
        ),
    ),
    "battery low": (
        ("{level:.0%}: nothing starts under {floor:.0%}", "{level:.0%}：低于 {floor:.0%} 不会开始"),
        ("charge it", "充电"),
    ),
}


def words(code: str, language: str, **values: object) -> tuple[str, str]:
    """(what was seen, what to do), a line each; `language` is ``en`` or ``zh``."""
    said, do = _WORDS[code]
    place = 1 if language == "zh" else 0
    return said[place].format(**values), do[place].format(**values)

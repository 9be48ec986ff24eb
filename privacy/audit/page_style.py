"""The style sheet of the HTML report. Its hash is the only thing the page's policy lets in."""

from __future__ import annotations

from typing import Final

__all__ = ["STYLE"]

STYLE: Final = """
:root { color-scheme: light dark; --paper:#f7f7f5; --card:#fff; --ink:#1c2024; --soft:#5d6670;
  --line:#e2e3e0; --grid:#ececea; --c1:#2a78d6; --c2:#e0662b; --c3:#2c9a6b; --c4:#8a5bd0;
  --bad:#b3261e; --good:#1f7a4d; --warn:#8a5a00 }
@media (prefers-color-scheme: dark) { :root { --paper:#15171a; --card:#1d2024; --ink:#e9ebed;
  --soft:#9aa3ad; --line:#2d3238; --grid:#292d32; --c1:#5b9df0; --c2:#f0915f; --c3:#57c091;
  --c4:#b08cf0; --bad:#ff8a80; --good:#5fcf95; --warn:#e8b54a } }
* { box-sizing:border-box }
body { margin:0 auto; background:var(--paper); color:var(--ink); padding:20px 24px 64px;
  max-width:1180px;
  font:15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans",
  "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif }
#en:checked ~ main [lang="zh-CN"], #zh:checked ~ main span[lang="en"] { display:none }
input[name="language"] { position:absolute; opacity:0 }
label { display:inline-block; padding:3px 12px; margin-right:6px; border:1px solid var(--line);
  border-radius:999px; font-size:13px; color:var(--soft); cursor:pointer }
input:checked + label { background:var(--ink); color:var(--paper); border-color:var(--ink) }
input:focus-visible + label { outline:2px solid var(--c1); outline-offset:2px }
h1 { font-size:25px; font-weight:650; margin:18px 0 14px; overflow-wrap:anywhere }
h2 { font-size:15px; font-weight:650; margin:0 } h3 { font-size:13px; margin:12px 0 2px }
p { margin:2px 0 8px; font-size:13px; color:var(--soft) }
ul { margin:0; padding-left:20px; font-size:13px } li { overflow-wrap:anywhere }
.verdict { border-left:5px solid var(--good); background:var(--card); padding:14px 18px;
  border-radius:0 10px 10px 0 }
.verdict strong { font-size:19px; color:var(--good) } .verdict p { font-size:14px }
.verdict.bad { border-color:var(--bad) } .verdict.bad strong { color:var(--bad) }
.verdict.not_private { border-color:var(--warn) } .verdict.not_private strong { color:var(--warn) }
.verdict + p { margin-top:12px }
.tiles { display:grid; grid-template-columns:repeat(auto-fit,minmax(min(46%,150px),1fr)); gap:12px;
  margin:16px 0 }
.tile, .card { background:var(--card); border:1px solid var(--line); border-radius:10px }
.tile { padding:12px 14px }
.tile b { display:block; font-size:23px; font-weight:620; font-variant-numeric:tabular-nums }
.tile span { color:var(--soft); font-size:12.5px }
.cards { display:grid; gap:14px;
  grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr)) }
.card { padding:15px 17px; margin-bottom:14px } .cards .card { margin-bottom:0 }
.cards { margin-bottom:14px }
.key { display:inline-block; margin-right:14px }
.key i { display:inline-block; width:10px; height:10px; border-radius:2px; margin-right:5px }
.k1 { background:var(--c1) } .k2 { background:var(--c2) } .k3 { background:var(--c3) }
.k4 { background:var(--c4) }
svg { width:100%; height:auto; display:block }
.axis { fill:var(--soft); font-size:11px; font-family:inherit }
.grid { stroke:var(--grid); stroke-width:1 } .mark { stroke:var(--bad); stroke-width:2 }
.limit { stroke:var(--bad); stroke-width:1.5; stroke-dasharray:5 4 }
.l1, .l2, .l3, .l4 { fill:none; stroke-width:2; stroke-linejoin:round } .thin { stroke-width:1 }
.l1 { stroke:var(--c1) } .l2 { stroke:var(--c2) } .l3 { stroke:var(--c3) } .l4 { stroke:var(--c4) }
.f1 { fill:var(--c1) } .f2 { fill:var(--c2) } .f3 { fill:var(--c3) } .f4 { fill:var(--c4) }
.r1, .r2, .r3, .r4 { fill:var(--card); stroke-width:2 }
.r1 { stroke:var(--c1) } .r2 { stroke:var(--c2) } .r3 { stroke:var(--c3) } .r4 { stroke:var(--c4) }
.dashed { stroke-dasharray:6 4 }
code { font-size:12px; overflow-wrap:anywhere }
.wide { overflow-x:auto }
table { border-collapse:collapse; width:100%; font-size:13.5px; margin-top:6px }
th { text-align:left; font-weight:500; color:var(--soft) }
td, th { padding:5px 12px 5px 0; border-bottom:1px solid var(--line); vertical-align:top }
td.n, th.n { text-align:right; font-variant-numeric:tabular-nums; padding:5px 0 5px 12px }
@media (max-width:600px) { body { padding:14px 14px 40px } .axis { font-size:14px } }
@media print { body { max-width:none } label { display:none } }
"""

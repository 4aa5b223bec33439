import type { Random } from './random.ts'

/** What mail is made of, and what breaks readers of it. */
const tokens = (
  'Content-Type: multipart/report; report-type=delivery-status; boundary=x|Content-Type: multipart/mixed; boundary="x"|--x|--x--|' +
  'Content-Type: message/delivery-status|Content-Type: message/rfc822|Content-Type: message/feedback-report|Content-Type: text/rfc822-headers|' +
  'Content-Type: text/html; charset=utf-7|Content-Transfer-Encoding: base64|Content-Transfer-Encoding: quoted-printable|Content-Transfer-Encoding: uuencode|' +
  'Final-Recipient: rfc822; ann@example.com|Original-Recipient: rfc822;|Action: failed|Action: delayed|Status: 5.1.1|Status: 4.4.7|Status: 5.999.999|' +
  'Diagnostic-Code: smtp; 550 5.1.1 |Reporting-MTA: dns; mx.example|X-Failed-Recipients: ann@example.com|Auto-Submitted: auto-replied|Feedback-Type: abuse|' +
  'User-Agent: x/1|Version: 1|Reported-Domain: |Return-Path: <>|From: MAILER-DAEMON@example.com|Subject: Undelivered Mail Returned to Sender|=?utf-8?B?|=?utf-8?Q?=00?=|?=|' +
  '=?|utf-8|iso-2022-jp|<div>|</div>|<b|<!--|<![CDATA[|<!DOCTYPE x [<!ENTITY a "aa">]>|&a;|&#x110000;|&amp;|<record>|<row>|<count>99999999999999999999</count>|{{|}}|{{#|{{/|{{{|' +
  '550 |5.1.1|4.2.2|user unknown|mailbox full|unknown|not|does not exist|<ann@example.com>|@|"|<|>|(|)|[|]|;|:|,|.|..|\\|%|=|==|=\r\n|\r\n|\n|\r|\r\n\r\n|\n\n|\t| |\0|\x7f|\x80|\xff|\xc3\xa9|\xf0\x9f\x92\xa9|\xed\xa0\x80|' +
  'begin 644 x|end|boundary=|charset=|;;;;|""""|rfc822;|smtp;|X-Postfix;|=?=?=?=?|ann@xn--|[127.0.0.1]|-1|0|1e999|null|{"|":|[[[['
).split('|')

/** Sizes that a part is repeated to, bytes: most inputs stay small, so that many are tried. */
const repeatedTo = [200, 200, 2000, 2000, 20_000, 100_000]

type Mutation = (input: Buffer, random: Random, other: Buffer) => Buffer

const place = (input: Buffer, random: Random): number => random.below(input.length + 1)
/** Short pieces more often than long ones. */
const range = (input: Buffer, random: Random): [number, number] => {
  const start = place(input, random)
  const longest = random.oneIn(4) ? input.length : 80
  return [start, Math.min(input.length, start + random.below(longest + 1))]
}
const replaced = (input: Buffer, start: number, end: number, by: Buffer): Buffer =>
  Buffer.concat([input.subarray(0, start), by, input.subarray(end)])
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

function repeated(piece: Buffer, size: number): Buffer {
  const times = piece.length === 0 ? 0 : Math.max(2, Math.floor(size / piece.length))
  return Buffer.concat(Array.from({ length: times }, () => piece))
}

const mutations: Mutation[] = [
  (input, random) => {
    const changed = Buffer.from(input)
    for (let count = 1 + random.below(8); count > 0 && changed.length > 0; count--) {
      const at = random.below(changed.length)
      changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
    }
    return changed
  },
  (input, random) => {
    const changed = Buffer.from(input)
    if (changed.length > 0) changed[random.below(changed.length)] = random.below(256)
    return changed
  },
  (input, random) => {
    const at = place(input, random)
    return replaced(input, at, at, latin1(random.of(tokens)))
  },
  (input, random) => replaced(input, ...range(input, random), latin1(random.of(tokens))),
  (input, random) => replaced(input, ...range(input, random), Buffer.alloc(0)),
  (input, random, other) => replaced(input, ...range(input, random), other.subarray(...range(other, random))),
  (input, random, other) => Buffer.concat([input.subarray(0, place(input, random)), other.subarray(place(other, random))]),
  (input, random) => {
    const [start, end] = range(input, random)
    return replaced(input, start, end, repeated(input.subarray(start, end), random.of(repeatedTo)))
  },
  (input, random) => {
    const at = place(input, random)
    return replaced(input, at, at, repeated(latin1(random.of(tokens)), random.of(repeatedTo)))
  },
  (input, random) => input.subarray(0, place(input, random)),
  (input, random) => {
    const [from, to] = random.of([
      ['\r\n', '\n'],
      ['\n', '\r\n'],
      ['\n', '\r'],
      ['\n', '\r\r\n'],
      ['\n', ''],
      [' ', '\t'],
      [': ', ':'],
      ['\n', '\n '],
    ])
    return latin1(input.toString('latin1').replaceAll(from as string, to as string))
  },
  (input, random) => {
    // Lines in another order, some twice.
    const lines = input.toString('latin1').split('\n')
    for (let count = 1 + random.below(4); count > 0; count--) lines.splice(random.below(lines.length), random.below(2), random.of(lines))
    return latin1(lines.join('\n'))
  },
]

/** The input changed in one to four ways; `other` is where pieces of something else come from. Never longer than `longest`. */
export function mutate(input: Buffer, other: Buffer, random: Random, longest: number): Buffer {
  let changed = input
  for (let count = 1 + random.below(4); count > 0; count--) changed = random.of(mutations)(changed, random, other).subarray(0, longest)
  return changed
}

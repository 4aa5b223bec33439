import { isAscii, isUtf8 } from 'node:buffer'

/** These declarations are wrong so often that we try UTF-8 first, which seldom matches by chance. */
const doubtful = new Set(['', 'us-ascii', 'ascii', 'utf-8', 'utf8', 'unknown-8bit', '7bit', '8bit', 'binary', 'default'])
const western = new Set(['iso-8859-1', 'windows-1252'])

/** Names that the WHATWG encoding list lacks. The ISO-2022-JP aliases need none. */
const otherNames = new Map(
  'cp932 shift_jis, ms932 shift_jis, cp936 gbk, cp949 euc-kr, cp950 big5, eucjp euc-jp, euckr euc-kr, cp1251 windows-1251'
    .split(', ')
    .map((pair) => pair.split(' ') as [string, string]),
)
/** The escapes at the start of ISO-2022-JP (RFC 1468), declared or not. */
const toJapanese = ['\x1b$B', '\x1b$@']

const labelOf = (charset: string | null): string => (charset ?? '').trim().toLowerCase()

/** The charsets that parts declare and that tell something about parts without one, most telling first. */
export function usefulCharsets(declared: readonly (string | null)[]): string[] {
  const labels = declared.map(labelOf).filter((label) => !doubtful.has(label) && !western.has(label))
  // Who writes ISO-2022-JP keeps other Japanese text in one of these.
  return [
    ...new Set(labels.flatMap((label) => (label.startsWith('iso-2022-jp') ? ['shift_jis', 'euc-jp'] : [otherNames.get(label) ?? label]))),
  ]
}

/**
 * Text in the declared charset; where none is, or one that is usually wrong, in UTF-8, else as the rest of the message, else by its bytes.
 * @param others `usefulCharsets` of the message
 */
export function decodeText(bytes: Buffer, charset: string | null, others: readonly string[] = []): string {
  const label = labelOf(charset)
  if (western.has(label)) return decodeUndeclared(bytes, () => 'windows-1252')
  const guess = (text: Buffer): string => others.find((each) => isValid(text, each)) ?? likelyCharset(text)
  if (doubtful.has(label)) return decodeUndeclared(bytes, guess)
  try {
    return new TextDecoder(otherNames.get(label) ?? label).decode(bytes)
  } catch {
    return decodeUndeclared(bytes, guess)
  }
}

const lf = 10
/** bytes from which a charset is guessed */
const maxSampleLength = 4096
/** Changes between UTF-8 and another charset in one text. More are an attack. */
const maxRuns = 1000

/** By line where necessary, because bounces quote replies of several hosts as they came. */
function decodeUndeclared(bytes: Buffer, charsetOf: (text: Buffer) => string): string {
  if (toJapanese.some((escape) => bytes.includes(escape))) return new TextDecoder('iso-2022-jp').decode(bytes)
  if (isUtf8(bytes)) return bytes.toString('utf8')
  const runs = runsOf(bytes)
  const others = runs.filter(({ isUnicode }) => !isUnicode).map(({ text }) => text)
  const decoder = new TextDecoder(charsetOf(Buffer.concat(others).subarray(0, maxSampleLength)))
  return runs.map(({ text, isUnicode }) => (isUnicode ? text.toString('utf8') : decoder.decode(text))).join('')
}

/** Lines in a row that are in UTF-8, or that are not. ASCII goes with either. */
function runsOf(bytes: Buffer): { text: Buffer; isUnicode: boolean }[] {
  const runs: { text: Buffer; isUnicode: boolean }[] = []
  let [start, isUnicode] = [0, true]
  for (let line = 0, next = 0; line < bytes.length && runs.length < maxRuns; line = next) {
    next = bytes.indexOf(lf, line) + 1 || bytes.length
    const text = bytes.subarray(line, next)
    if (isUtf8(text) === isUnicode || isAscii(text)) continue
    if (line > start) runs.push({ text: bytes.subarray(start, line), isUnicode })
    start = line
    isUnicode = !isUnicode
  }
  return [...runs, { text: bytes.subarray(start), isUnicode }]
}

/** True if the bytes are valid in this charset; the last character may be cut off. */
function isValid(bytes: Buffer, label: string): boolean {
  try {
    new TextDecoder(label, { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

/** Where the first byte of the common characters of a charset with two bytes per character is. */
const common: [charset: string, lead: RegExp][] = [
  ['shift_jis', /^[\x81-\x83\x88-\x97]/],
  ['euc-jp', /^[\xa1\xa4\xa5\xb0-\xcf]/],
  ['euc-kr', /^[\xa1\xb0-\xc8]/],
  ['gbk', /^[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]/],
  ['big5', /^[\xa1\xa4-\xc6]/],
]
/** The least share of common characters. */
const mostlyCommon = 0.85

/**
 * The charset that 8-bit text is probably in. Western letters stand alone among ASCII, Cyrillic words consist of the upper quarter, and the
 * scripts of East Asia have two bytes per character.
 */
function likelyCharset(bytes: Buffer): string {
  const runs = bytes.toString('latin1').match(/[\x80-\xff]+/g) ?? []
  const high = runs.join('')
  const share = (pattern: RegExp): number => (high.match(pattern)?.length ?? 0) / high.length
  const isCyrillic = share(/[\xc0-\xff\xa3\xb3\xa8\xb8]/g) > 0.95 && high.length > 2 * runs.length
  if (isCyrillic) return share(/[\xc0-\xdf]/g) > 0.5 ? 'koi8-r' : 'windows-1251'
  const [best] = common
    .map(([charset, lead]) => ({ charset, fit: fitOf(bytes, charset, lead) }))
    .filter(({ fit }) => fit >= mostlyCommon)
    .toSorted((one, another) => another.fit - one.fit)
  return best?.charset ?? 'windows-1252'
}

/** The share of common characters among those beyond ASCII; 0 where the bytes are not of this charset. */
function fitOf(bytes: Buffer, charset: string, lead: RegExp): number {
  if (!isValid(bytes, charset)) return 0
  const pairs = bytes.toString('latin1').match(/[\x81-\xfe][\x40-\xfe]/g) ?? []
  const kana = pairs.filter((pair) => /^[\xa4\xa5]/.test(pair)).length
  const found = pairs.filter((pair) => lead.test(pair)).length
  // Chinese has hardly any kana, and Japanese text much of it.
  if (charset === 'euc-jp' && kana * 10 < pairs.length) return 0
  return found / Math.max(pairs.length, 2)
}

/** What a Diagnostic-Code field (RFC 3464 2.3.6), or the words around it, quotes of a reply. */
export interface Diagnostic {
  code: number | null
  enhancedStatus: string | null
  /** On one line, without the type of the field. */
  text: string
}

const diagnosticType = /^\s*([A-Za-z][A-Za-z0-9-]{0,40})\s*;\s*/
/** At the beginning, or behind what introduces a reply: `said: 550 …`, `<<< 550 …`, `(550 …`. */
const quotedCode =
  /(?:^|[:;<>("'[|]\s{0,3}|\b(?:said|error|code|reply|response|returned|status)\W{1,3})([245][0-5]\d)(?=[- )\],:;"']|\.(?!\d)|$)/i
/**
 * How Exchange Online, amavis and Postfix's verification of recipients introduce what another server said: by a code and
 * words of their own, which only sort it.
 */
const introduced = new RegExp(
  [
    String.raw`^.{0,40}\bremote server returned\b[^>]{0,200}-> ?(?=\S)`,
    String.raw`^.{0,120}?\bid=\S{1,60}(?: - [\w ,-]{1,80})?, from MTA\([^)]{1,80}\): (?=[245]\d\d[ -])`,
    String.raw`^(?:(?!sender address).){0,350}?recipient address rejected: (?:undeliverable|unverified) address: host \S{1,300} said: (?=[245]\d\d[ -])`,
  ].join('|'),
  'i',
)
const codeBeforeEnhanced = /\b([245])[0-5]\d[- ]{1,3}(?=#?\1\.\d{1,3}\.\d{1,3}\b)/
/** The enhanced code behind the code: `550 5.1.1`, `550-'5.1.1`. */
const enhancedBehindCode = /\b([245])[0-5]\d[- '"(#]{1,4}(\1\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/
/** `5.1.1`, `#5.1.1` and `(#5.1.1)`; a longer row of numbers is an address. */
const enhanced = /(?:^|[^\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/

/** Reads what a mail system said. An enhanced code must be of the class of the reply that stands with it. */
export function parseDiagnostic(said: string): Diagnostic {
  const text = said.replace(diagnosticType, '').replace(/\s+/g, ' ').trim().replace(introduced, '')
  const found = quotedCode.exec(text)?.[1] ?? codeBeforeEnhanced.exec(text)?.[0]
  const code = found === undefined ? null : parseInt(found, 10)
  const enhancedStatus = enhancedBehindCode.exec(text)?.[2] ?? enhanced.exec(text)?.[1] ?? null
  const contradicts = code !== null && enhancedStatus !== null && enhancedStatus[0] !== String(code)[0]
  return { code, enhancedStatus: contradicts ? null : enhancedStatus, text }
}

/** The enhanced code in a Status field (RFC 3464 2.3.4), comments aside. */
export const statusCodeOf = (value: string): string | null => enhanced.exec(value)?.[1] ?? null

/** True where a code says nothing but success or failure (RFC 3463 3.1). */
export const isGeneric = (enhancedStatus: string | null): boolean => enhancedStatus === null || enhancedStatus.endsWith('.0.0')

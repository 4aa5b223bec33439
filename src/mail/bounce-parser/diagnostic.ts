/** The reply quoted in a Diagnostic-Code field (RFC 3464 2.3.6) or in text. */
export interface Diagnostic {
  code: number | null
  enhancedStatus: string | null
  /** On one line, without the field's type. */
  text: string
}

const diagnosticType = /^\s*([A-Za-z][A-Za-z0-9-]{0,40})\s*;\s*/
/** At the start, or after an introduction: `said: 550 …`, `<<< 550 …`, `(550 …`. */
const quotedCode =
  /(?:^|[:;<>("'[|]\s{0,3}|\b(?:said|error|code|reply|response|returned|status)\W{1,3})([245][0-5]\d)(?=[- )\],:;"']|\.(?!\d)|$)/i
/**
 * How Exchange Online, amavis and Postfix's address verification introduce another server's reply: with a code and
 * words of their own, which only classify it.
 */
const introduced = new RegExp(
  [
    String.raw`^.{0,40}\bremote server returned\b[^>]{0,200}-> ?(?=\S)`,
    String.raw`^.{0,120}?\bid=\S{1,60}(?: - [\w ,-]{1,80})?, from MTA\([^)]{1,80}\): (?=[245]\d\d[ -])`,
    String.raw`^(?:(?!sender address).){0,350}?recipient address rejected: (?:undeliverable|unverified) address: host \S{1,300} said: (?=[245]\d\d[ -])`,
  ].join('|'),
  'i',
)
/** Beside the phase, as in `(in reply to RCPT TO command) 550 …` and `… 550 (in reply to RCPT TO)`. */
const codeBesidePhase =
  /\b(?:RCPT|RCPT TO|MAIL|MAIL FROM|DATA|BDAT|EHLO|HELO)(?: command| phase| stage)?[\])]?[\s:,.-]{1,4}([245][0-5]\d)(?=[- ])|\b([245][0-5]\d),? \(?(?:in (?:reply|response) to|after|during) (?:the )?(?:RCPT|MAIL|DATA|end of DATA|EHLO|HELO)\b/i
const codeBeforeEnhanced = /\b([245])[0-5]\d[- ]{1,3}(?=#?\1\.\d{1,3}\.\d{1,3}\b)/
/** The enhanced status after the code: `550 5.1.1`, `550-'5.1.1`. */
const enhancedBehindCode = /\b([245])[0-5]\d[- '"(#]{1,4}(\1\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/
/** `5.1.1`, `#5.1.1` and `(#5.1.1)`. More numbers make an IP address. */
const enhanced = /(?:^|[^\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/

/** Parses what a mail system said. The enhanced status must be of the same class as the reply code. */
export function parseDiagnostic(said: string): Diagnostic {
  const text = said.replace(diagnosticType, '').replace(/\s+/g, ' ').trim().replace(introduced, '')
  const beside = codeBesidePhase.exec(text)
  const found = quotedCode.exec(text)?.[1] ?? beside?.[1] ?? beside?.[2] ?? codeBeforeEnhanced.exec(text)?.[0]
  const code = found === undefined ? null : parseInt(found, 10)
  const enhancedStatus = enhancedBehindCode.exec(text)?.[2] ?? enhanced.exec(text)?.[1] ?? null
  const contradicts = code !== null && enhancedStatus !== null && enhancedStatus[0] !== String(code)[0]
  return { code, enhancedStatus: contradicts ? null : enhancedStatus, text }
}

/** The enhanced status in a Status field (RFC 3464 2.3.4), without comments. */
export const statusCodeOf = (value: string): string | null => enhanced.exec(value)?.[1] ?? null

/** True if the code says only success or failure (RFC 3463 3.1). */
export const isGeneric = (enhancedStatus: string | null): boolean => enhancedStatus === null || enhancedStatus.endsWith('.0.0')

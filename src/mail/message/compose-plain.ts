import type { ComposedHeader } from './compose-header.ts'
import { randomText } from './random-text.ts'
import { encodeTextPart } from './text-part.ts'

interface PlainBody {
  html: string | null
  text: string | null
}

/** The header and the body of a text part, in a suitable encoding. */
export function textEntity(subtype: 'plain' | 'html', text: string): [head: string, bytes: Buffer] {
  const { encoding, bytes } = encodeTextPart(text)
  return [`Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`, bytes]
}

/**
 * A message without attachments: text, html or multipart/alternative of both (RFC 2046 5.1.4). MailComposer
 * makes the same message at ten times the cost.
 */
export function composePlain(header: ComposedHeader, { html, text }: PlainBody): Buffer {
  const top = `${header.text}\r\nMIME-Version: 1.0\r\n`
  if (html === null || text === null) {
    const [head, bytes] = html === null ? textEntity('plain', text ?? '') : textEntity('html', html)
    return Buffer.concat([Buffer.from(top + head), bytes])
  }
  // "=_" never occurs in quoted-printable or base64 text; in 7bit text, the random part must be enough.
  const boundary = `=_${randomText(18, 'base64url')}`
  const [plainHead, plainBytes] = textEntity('plain', text)
  const [htmlHead, htmlBytes] = textEntity('html', html)
  return Buffer.concat([
    Buffer.from(`${top}Content-Type: multipart/alternative; boundary="${boundary}"\r\n\r\n--${boundary}\r\n${plainHead}`),
    plainBytes,
    Buffer.from(`\r\n--${boundary}\r\n${htmlHead}`),
    htmlBytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
}

import { isAscii } from 'node:buffer'
import { randomText } from './random-text.ts'
import { encodeTextPart } from './text-part.ts'

/** A part of a message with its bytes already encoded. */
export interface MimePart {
  /** With its parameters. */
  contentType: string
  /** Further fields, complete, without the final CRLF. */
  fields?: string[]
  encoding: '7bit' | '8bit' | 'quoted-printable' | 'base64'
  /** CRLF line ends, no bare CR or LF. */
  bytes: Uint8Array
}

/** Plain text for people, in a suitable encoding. */
export const textPart = (text: string, fields: string[] = []): MimePart => ({
  contentType: 'text/plain; charset=utf-8',
  fields,
  ...encodeTextPart(text),
})

/** Content that must not change, such as a message within the message: `message/…` parts allow no other encoding (RFC 2046 5.2). */
export const wholePart = (contentType: string, bytes: Uint8Array, fields: string[] = []): MimePart => ({
  contentType,
  fields,
  encoding: isAscii(bytes) ? '7bit' : '8bit',
  bytes,
})

/**
 * A message of several parts.
 * @param header every other field, without the final CRLF
 * @param multipart `mixed`, or with parameters: `report; report-type=delivery-status`
 */
export function composeParts(header: string, multipart: string, parts: MimePart[]): Buffer {
  // "=_" and eighteen random bytes occur in no part.
  const boundary = `=_${randomText(18, 'base64url')}`
  const isPlain = parts.every(({ encoding }) => encoding !== '8bit')
  const top = [
    header,
    'MIME-Version: 1.0',
    `Content-Type: multipart/${multipart};\r\n boundary="${boundary}"`,
    `Content-Transfer-Encoding: ${isPlain ? '7bit' : '8bit'}`,
  ]
  const pieces: Uint8Array[] = [Buffer.from(`${top.join('\r\n')}\r\n`)]
  for (const { contentType, fields = [], encoding, bytes } of parts) {
    const head = [`Content-Type: ${contentType}`, ...fields, `Content-Transfer-Encoding: ${encoding}`]
    pieces.push(Buffer.from(`\r\n--${boundary}\r\n${head.join('\r\n')}\r\n\r\n`), bytes)
  }
  return Buffer.concat([...pieces, Buffer.from(`\r\n--${boundary}--\r\n`)])
}

import { textFromHtml } from '../message/text-from-html.ts'

/** A message that came back to us, as far as it is read: its header and its leaves in order. */
export interface ReturnedMessage {
  headers: HeaderField[]
  parts: ReturnedPart[]
}

export interface HeaderField {
  /** Lower case. */
  name: string
  /** Unfolded and decoded (RFC 2047), without the white space around it. */
  value: string
}

export interface ReturnedPart {
  /** `text/plain`, `message/delivery-status`: lower case, without parameters. A message within the message is one part. */
  contentType: string
  /** Decoded to text, cut at a bound; of HTML its source. Lines end with LF. */
  content: string
}

/** The first field of this name, given in lower case; empty where there is none. */
export const headerValue = ({ headers }: ReturnedMessage, name: string): string => headers.find((field) => field.name === name)?.value ?? ''

/** All fields of this name. */
export const headerValues = (headers: readonly HeaderField[], name: string): string[] =>
  headers.filter((field) => field.name === name).map(({ value }) => value)

/** What a message says for people: its first text, of HTML without the markup; empty where there is none. */
export function textOf({ parts }: ReturnedMessage): string {
  const text = parts.find(({ contentType, content }) => contentType === 'text/plain' && content.trim() !== '')
  if (text) return text.content
  const html = parts.find(({ contentType }) => contentType === 'text/html')
  return html ? textFromHtml(html.content) : ''
}

import { SternaError, type ErrorCode, type FieldFault } from '../../../platform/errors.ts'
import { parseMailbox, parseMailboxList } from '../../../platform/smtp/mailbox.ts'
import { bodyLimit } from '../../operation/body-limits.ts'

/** An email as `POST /api/emails` takes it: every compat API translates its requests to this. */
export interface NativeEmail {
  from: NativeMailbox | undefined
  to: NativeMailbox[]
  cc?: NativeMailbox[]
  bcc?: NativeMailbox[]
  reply_to?: NativeMailbox[]
  subject?: string
  html?: string
  text?: string
  headers?: Record<string, string>
  attachments?: NativeAttachment[]
  tags?: { name: string; value: string }[]
  metadata?: Record<string, string>
  scheduled_at?: string
  tracking?: { opens?: boolean; clicks?: boolean }
  unsubscribe?: { topic: string }
  template?: { id: string; variables: Record<string, unknown>; version?: number }
}

export interface NativeMailbox {
  email: string
  name?: string | null | undefined
}

export interface NativeAttachment {
  filename: string
  /** base64 */
  content: string
  content_type?: string
  content_id?: string
}

/** A fault, in the words of the service whose API this is. */
export type CompatFault = FieldFault & { error?: ErrorCode | undefined }

export const faultAt = (field: string, code: string, message: string): CompatFault => ({ field, code, message, help: null })

/** Names of our fields and what another service calls them; the first that fits counts. */
export type Renames = readonly (readonly [pattern: RegExp, name: string])[]

/** What a field is called there; one that no pattern fits keeps its name. */
export function renamed(field: string, renames: Renames): string {
  const rename = renames.find(([pattern]) => pattern.test(field))
  return rename ? field.replace(rename[0], rename[1]) : field
}

/** A list with commas as header fields have it; what is wrong with it is added to `faults`. */
export function mailboxList(text: string, field: string, faults: CompatFault[]): NativeMailbox[] {
  const parsed = parseMailboxList(text.trim(), 'strict')
  if (parsed.ok) return parsed.mailboxes.map(({ address, name }) => ({ email: address, name }))
  const error: ErrorCode | undefined = field.toLowerCase() === 'from' ? 'invalid_from_address' : undefined
  faults.push({ ...faultAt(field, 'invalid_email', `The \`${field}\` field is not a valid email address. ${parsed.fault}`), error })
  return []
}

/** The email without a Sender that is its From: RFC 5322 3.6.2 asks that there be none, and some clients write it all the same. */
export function withoutOwnSender(email: NativeEmail): NativeEmail {
  const { headers: given, ...rest } = email
  const headers = Object.fromEntries(Object.entries(given ?? {}).filter(([name, value]) => !isOwnSender(name, value, email.from)))
  return Object.keys(headers).length > 0 ? { ...rest, headers } : rest
}

function isOwnSender(name: string, value: string, from: NativeMailbox | undefined): boolean {
  if (name.toLowerCase() !== 'sender') return false
  const parsed = parseMailbox(value)
  return parsed.ok && parsed.mailbox.address.toLowerCase() === from?.email.toLowerCase()
}

/**
 * Counts what the emails of one request come to: with one body and one file for a hundred recipients each, a small
 * request may make gigabytes.
 */
export class FanOut {
  #left = bodyLimit

  /**
   * `atLeast`: how many characters they have, where that is known before they are made.
   * @throws SternaError `payload_too_large`
   */
  constructor(atLeast = 0) {
    if (atLeast > bodyLimit) throw tooLarge()
  }

  /** @throws SternaError `payload_too_large` */
  add({ html, text, attachments }: Pick<NativeEmail, 'html' | 'text' | 'attachments'>): void {
    this.#left -= (html?.length ?? 0) + (text?.length ?? 0)
    for (const { content } of attachments ?? []) this.#left -= content.length
    if (this.#left < 0) throw tooLarge()
  }
}

const tooLarge = (): SternaError =>
  new SternaError(
    'payload_too_large',
    `The emails of this request come to more than ${bodyLimit / 1024 / 1024} MiB together; send them in several requests.`,
  )

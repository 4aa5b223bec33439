import { newId } from '../../src/platform/id.ts'
import type { Content } from '../../src/mail/message/content.ts'
import { envelopeTo, recipientTo, type Envelope } from '../../src/mail/message/envelope.ts'
import type { HeaderSummary } from '../../src/mail/message/header-summary.ts'
import { defaultOptions, type SendOptions } from '../../src/mail/message/send-options.ts'
import type { Submission } from '../../src/mail/message/submission.ts'
import { unsubscribeKeys, type UnsubscribeContext } from '../../src/mail/suppression/unsubscribe-token.ts'

/** The chunks of a small message. */
export function contentOf(text: string): Content {
  const bytes = Buffer.from(text)
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  return { size: bytes.length, pending: [shared], stored: 0 }
}

type Changes = Partial<Omit<Submission, 'envelope' | 'header' | 'options'>> & {
  envelope?: Partial<Envelope>
  header?: Partial<HeaderSummary>
  options?: Partial<SendOptions>
}

/** A complete submission to `addresses`, as a door would hand it to `accept`; `changes` replace what a test is about. */
export const submissionTo = (addresses: string[], { envelope, header, options, ...changes }: Changes = {}): Submission => ({
  id: newId('em', Date.now()),
  source: 'api',
  submitter: { accountId: 'acc_1', domainId: null, sandbox: false },
  envelope: {
    ...envelopeTo(
      addresses.map((address) => recipientTo(address)),
      { bodyType: '7bit', smtputf8: false },
    ),
    ...envelope,
  },
  header: {
    from: [{ address: 'app@sender.example', name: null }],
    sender: null,
    resentBy: [],
    fromText: 'app@sender.example',
    toText: addresses,
    ccText: [],
    replyToText: [],
    subject: 'Hello',
    messageIdHeader: '<1@sender.example>',
    ...header,
  },
  content: contentOf('From: app@sender.example\r\nSubject: Hello\r\n\r\nHello.\r\n'),
  options: { ...defaultOptions, ...options },
  idempotency: null,
  ...changes,
})

/** Links of `https://mail.example.com`. */
export const unsubscribeContext: UnsubscribeContext = {
  keys: unsubscribeKeys(() => Buffer.alloc(32, 7)),
  baseUrl: 'https://mail.example.com',
}

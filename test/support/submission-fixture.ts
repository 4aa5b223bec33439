import { newId } from '../../src/id.ts'
import type { Content, Submission } from '../../src/message/submission.ts'
import { unsubscribeKeys, type UnsubscribeFrame } from '../../src/suppression/unsubscribe-token.ts'

/** The chunks of a small message. */
export function contentOf(text: string): Content {
  const bytes = Buffer.from(text)
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  return { size: bytes.length, pending: [shared], stored: 0 }
}

/** A complete submission to `addresses`, as a door would hand it to `accept`; `changes` replace what a test is about. */
export function submissionTo(addresses: string[], changes: Partial<Submission> = {}): Submission {
  return {
    id: newId('em', Date.now()),
    source: 'api',
    submitter: { accountId: 'acc_1', keyId: 'key_1', domainId: null, sandbox: false },
    reversePath: null,
    recipients: addresses.map((address) => ({ mailbox: { address, name: null }, type: 'to', notify: null, orcpt: null })),
    headerFrom: [{ address: 'app@sender.example', name: null }],
    sender: null,
    headerFromText: 'app@sender.example',
    headerToText: addresses,
    headerCcText: [],
    replyToText: [],
    subject: 'Hello',
    messageIdHeader: '<1@sender.example>',
    content: contentOf('From: app@sender.example\r\nSubject: Hello\r\n\r\nHello.\r\n'),
    bodyType: '7bit',
    smtputf8: false,
    envid: null,
    ret: null,
    tags: [],
    metadata: {},
    templateId: null,
    unsubscribeTopic: null,
    tracking: {},
    scheduledAt: null,
    expiresIn: null,
    idempotency: null,
    ...changes,
  }
}

/** Links of `https://mail.example.com`. */
export const unsubscribeFrame: UnsubscribeFrame = { keys: unsubscribeKeys(() => Buffer.alloc(32, 7)), baseUrl: 'https://mail.example.com' }

import { expect, test } from 'vitest'
import { systemAccountId } from '../../../src/senders/account/system-account.ts'
import { JobEnvelopes } from '../../../src/mail-out/delivery/job-envelopes.ts'
import { MessageIdentity } from '../../../src/mail-out/delivery/message-identity.ts'
import type { SenderDomain } from '../../../src/senders/sending-domain/domain-memory.ts'
import { unsubscribeKeys } from '../../../src/mail/suppression/unsubscribe-token.ts'
import { TrackingLinks } from '../../../src/readers/tracking/tracking-links.ts'
import { trackingKeys } from '../../../src/readers/tracking/tracking-token.ts'

const domain: SenderDomain = {
  id: 'dom_1',
  name: 'sender.example',
  tls: 'enforced',
  subdomains: false,
  tracking: { opens: false, clicks: false },
  trackingHost: 'links.sender.example',
  returnPathDomain: 'send.sender.example',
  knownName: 'send.sender.example',
  signingKeys: [{ id: 'key_1', signingDomain: 'sender.example', selector: 's1', algorithm: 'ed25519-sha256' }],
}
const message = {
  id: `em_${'1'.repeat(26)}`,
  accountId: `acc_${'2'.repeat(26)}`,
  domainId: 'dom_1',
  sandbox: false,
  firstDueAt: Date.UTC(2026, 10, 21),
  nullReversePath: false,
  feedbackTag: null,
  unsubscribeTopic: null,
  tracking: null,
}
const recipient = { id: `rcp_${'3'.repeat(26)}`, forwardPath: 'ann@rcpt.example' }

function openEnvelopes() {
  const told: string[] = []
  let keyGone = (_id: string): void => {}
  const frames = new JobEnvelopes({
    identity: new MessageIdentity({
      tokenKeys: () => [Buffer.alloc(32, 7)],
      feedbackSender: 'relay',
      unsubscribe: () => ({ keys: unsubscribeKeys((purpose) => Buffer.alloc(32, purpose)), baseUrl: 'https://mail.example' }),
    }),
    tracking: new TrackingLinks({
      keys: () => [trackingKeys(() => Buffer.alloc(32))],
      baseUrl: 'https://mail.example',
      hiddenLink: false,
      isCertified: () => true,
    }),
    sendingDomains: {
      senderDomain: (id) => (id === domain.id ? domain : null),
      privateKey: (id) => Buffer.from(id),
      onKeyGone: (listener) => (keyGone = listener),
    },
    delivery: {
      addKey: (id, der) => told.push(`add ${id} ${Buffer.from(der).toString()}`),
      dropKey: (id) => told.push(`drop ${id}`),
    },
  })
  return { frames, told, keyGone: (id: string) => keyGone(id) }
}

test('a message leaves under the return path of its domain, by which it is known again', () => {
  const frame = openEnvelopes().frames.envelopeFor(message)
  expect(frame).toMatchObject({
    signingKeys: domain.signingKeys,
    tls: 'enforced',
    knownName: 'send.sender.example',
    fields: [{ text: expect.stringContaining('Feedback-ID: ') }],
  })
  expect(frame?.envelopeOf(recipient)).toMatchObject({
    reversePath: expect.stringMatching(/^b\w{46}@send\.sender\.example$/),
    traceFields: expect.stringMatching(/^X-Sterna-Ref: r\w{46}\r\n$/),
  })
})

test('delivery is given each key once, and told when it is gone', () => {
  const { frames, told, keyGone } = openEnvelopes()
  frames.envelopeFor(message)
  frames.envelopeFor(message)
  keyGone('key_1')
  keyGone('key_1')
  frames.envelopeFor(message)
  expect(told).toEqual(['add key_1 key_1', 'drop key_1', 'add key_1 key_1'])
})

test('mail whose domain is gone waits', () => {
  const { frames } = openEnvelopes()
  expect(frames.envelopeFor({ ...message, domainId: 'dom_2' })).toBeNull()
  expect(frames.envelopeFor({ ...message, domainId: null })).toBeNull()
})

test('mail of the server itself leaves without a trace of its recipient, signed or not', () => {
  const { frames } = openEnvelopes()
  const own = { ...message, accountId: systemAccountId }
  const anonymous = { reversePath: '', traceFields: '', fields: [] }
  for (const domainId of ['dom_1', 'dom_2', null]) {
    const frame = frames.envelopeFor({ ...own, domainId })
    expect(frame).toMatchObject({ signingKeys: domainId === 'dom_1' ? domain.signingKeys : [], fields: [] })
    expect(frame?.envelopeOf(recipient)).toEqual(anonymous)
  }
})

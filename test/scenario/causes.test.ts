import { afterAll, beforeAll, expect, test } from 'vitest'
import { de } from '../../src/clients/dashboard/texts/de.ts'
import { en } from '../../src/clients/dashboard/texts/en.ts'
import { causeCodes, causes, explanationOwners, type CauseCode } from '../../src/readers/explanation/causes.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const host = '127.0.8.6'

/** What a server replies to RCPT, and the cause of it. */
const replies: Partial<Record<CauseCode, string>> = {
  greylisting: '451 4.7.1 Greylisted, please come back',
  busy: '451 4.3.0 Local error, please try later',
  sending_rate: '421 4.7.28 An unusual rate of unsolicited mail comes from your IP address',
  domain_rate: '421 4.7.28 An unusual rate of unsolicited mail comes from your DKIM domain',
  recipient_rate: '550 5.2.1 The user is receiving mail at a rate that prevents more',
  unknown_recipients: '550 Too many invalid recipients',
  dynamic_address: '554 5.7.1 We take no mail from dynamic IP addresses',
  ipv6: '550 5.7.510 Access denied, rcpt.example does not accept email over IPv6',
  plain_text: '550 5.7.29 This mail was not sent over a TLS connection',
  login: '550 5.7.30 Basic authentication is not supported for Client Submission',
  recipient_policy: '550 5.7.1 Your message was rejected by the recipient',
  relay_denied: '554 5.7.1 Relay access denied',
  mail_loop: '554 5.4.6 Too many hops',
  message_format: '550 5.7.1 Messages missing a valid Message-ID header are not accepted',
  refused_for_now: '450 qwertz',
  reverse_dns: '550 5.7.25 The IP address sending this message does not have a PTR record setup',
  authentication: '550 5.7.26 The sender is unauthenticated',
  domain_reputation: '554 5.7.1 Sender address blocked using dbl.spamhaus.org',
  reputation: '554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org',
  content_rejected: '550 5.7.1 Message content rejected as spam',
  mailbox_full: '552 5.2.2 The mailbox is over quota',
  invalid_recipient: '550 5.1.1 No such user here',
  too_large: '552 5.3.4 Message size exceeds the fixed maximum',
  domain_not_found: '550 5.4.4 unable to route: no mail hosts for domain',
  sender_address: '553 5.1.8 Domain of sender address does not resolve',
  host_name: '550 5.7.1 Helo command rejected: Host not found',
  protocol: '550 5.5.2 Command not recognized',
  policy: '550 5.7.1 Delivery not authorized',
  other: '599 qwertz',
}

/** Addresses that no server replies about. */
const silences: Partial<Record<CauseCode, string>> = {
  null_mx: 'ann@null.example',
  domain_doubtful: 'ann@nowhere.example',
  dns: 'ann@broken.example',
  timeout: 'close@closing.example',
  suppressed: 'suppressed@rcpt.example',
}

/** Each has a host of its own: after some replies, nothing more is sent to the same for a while. */
const domainOf = (code: string): string => `${code.replaceAll('_', '-')}.example`

const cases = [
  ...Object.keys(replies).map((code) => [code, `${code}@${domainOf(code)}`] as const),
  ...Object.entries(silences).map(([code, address]) => [code, address] as const),
] as [CauseCode, string][]

let mx: FakeMx
let relay: TestRelay

beforeAll(async () => {
  mx = await startFakeMx({
    host,
    on: { rcpt: (address) => (address.startsWith('close') ? 'close' : replies[address.split('@')[0] as CauseCode]) },
  })
  relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    {
      ...Object.fromEntries(Object.keys(replies).map((code) => [domainOf(code), { mx: [[10, `mx.${domainOf(code)}`]] }])),
      ...Object.fromEntries(Object.keys(replies).map((code) => [`mx.${domainOf(code)}`, { a: [host] }])),
      'rcpt.example': { mx: [[10, 'mx.rcpt.example']] },
      'again.example': { mx: [[10, 'mx.rcpt.example']] },
      'closing.example': { mx: [[10, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: [host] },
      'null.example': { mx: [[0, '.']] },
      'nowhere.example': 'nxdomain',
      'broken.example': 'servfail',
    },
  )
  await relay.call('POST', '/api/suppressions', { email: 'suppressed@rcpt.example' })
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

test.each(cases)(
  '%s has one owner in the list, the email, its attempts, analytics and the words of the dashboard',
  async (code, address) => {
    const id = await relay.send(address)
    const recipient = async () => (await relay.call('GET', `/api/emails/${id}`)).body.recipients[0]
    await expect.poll(async () => (await recipient()).explanation).not.toBeNull()
    const { explanation, status } = await recipient()
    expect(explanation).toMatchObject({ code, owner: causes[code].owner, cause: causes[code].what })
    const { body: list } = await relay.call('GET', `/api/emails?to=${encodeURIComponent(address)}`)
    expect(list.data[0].reason).toMatchObject({ code, owner: explanation.owner })
    const { body: attempts } = await relay.call('GET', `/api/emails/${id}/attempts`)
    expect(attempts.data.map((attempt: any) => attempt.explanation)).toEqual(code === 'suppressed' ? [] : [explanation])
    if (status === 'deferred') return
    const { body: counts } = await relay.call('GET', '/api/analytics?dimensions=cause&metrics=bounced,suppressed,failed')
    expect(counts.data).toContainEqual(expect.objectContaining({ cause: code, owner: explanation.owner }))
  },
)

test('a suppressed recipient says why, since when and by which email, and is not sent to again', async () => {
  const address = 'invalid_recipient@again.example'
  const first = await relay.send(address)
  const recipientOf = async (id: string) => (await relay.call('GET', `/api/emails/${id}`)).body.recipients[0]
  await expect.poll(async () => (await recipientOf(first)).suppression).toMatchObject({ origin: 'bounce', source_id: first })
  const second = await relay.send([address, 'ann@again.example'])
  expect(await recipientOf(second)).toMatchObject({
    status: 'suppressed',
    explanation: { code: 'suppressed', owner: 'sender', advice_codes: ['suppressed_bounce'] },
    suppression: { email: address, origin: 'bounce', source_id: first, reason: expect.stringContaining('No such user') },
  })
  for (const id of [first, second]) {
    const { status, body } = await relay.call('POST', `/api/emails/${id}/resend`)
    expect({ status, message: body.message }).toEqual({ status: 409, message: expect.stringContaining('suppression list') })
  }
  await relay.call('DELETE', `/api/suppressions/${address}`)
  expect(await recipientOf(second)).toMatchObject({ explanation: { advice_codes: ['suppressed_no_more'] }, suppression: null })
  const { status, body } = await relay.call('POST', `/api/emails/${second}/resend`)
  expect({ status, to: body.recipients.map(({ email }: any) => email) }).toEqual({ status: 200, to: [address] })
})

test('a missing PTR record lies with the operator', () => expect(causes.reverse_dns.owner).toBe('us'))

test.each([
  ['English', en],
  ['German', de],
])('the dashboard has words for each cause and each owner in %s', (_, texts) => {
  expect(Object.keys(texts.causes).toSorted()).toEqual(causeCodes.toSorted())
  expect(Object.keys(texts.ownerNames).toSorted()).toEqual([...explanationOwners].toSorted())
  expect(Object.keys(texts.owners).toSorted()).toEqual([...explanationOwners].toSorted())
})

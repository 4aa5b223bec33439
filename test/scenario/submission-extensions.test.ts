import { expect, onTestFinished, test } from 'vitest'
import { authorityFile } from '../support/authority-file.ts'
import { testMx } from '../support/delivery-fixture.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testCertificate } from '../support/test-certificates.ts'

const minute = 60_000

/** Submits over TLS with parameters of MAIL; gives the id, or the refusal. `seconds`: that the content takes. */
async function submit(
  relay: TestRelay,
  mail: string,
  { to = 'ann@rcpt.example', rcpt = '', header = '', seconds = 0 } = {},
): Promise<string> {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  try {
    for (const line of [`MAIL FROM:<bounces@sender.example> ${mail}`, `RCPT TO:<${to}>${rcpt}`, 'DATA']) {
      const { code, last } = await client.command(line)
      if (code >= 400) return last
    }
    relay.clock.advance(seconds * 1000)
    client.write(`From: App <app@sender.example>\r\nTo: ${to}\r\n${header}Subject: Plan\r\n\r\nThe body.\r\n.\r\n`)
    const { last } = await client.reply()
    return /em_[0-9a-z]{26}/.exec(last)?.[0] ?? last
  } finally {
    client.close()
  }
}

/** Of the only recipient. */
const stateOf = async (relay: TestRelay, id: string): Promise<string | undefined> => Object.values(await relay.recipients(id))[0]?.status
const reaches = (relay: TestRelay, id: string, state: string): Promise<void> => expect.poll(() => stateOf(relay, id)).toBe(state)

test('mail is held, given up or told to be late when its submitter asked, and the next host is told too, across a restart', async () => {
  const extensions = ['PIPELINING', 'DELIVERBY 60', 'MT-PRIORITY']
  let isBusy = false
  const rcpt = (address: string) => (isBusy && !address.startsWith('bounces') ? '451 4.7.1 come back later' : undefined)
  const mx = await testMx({ host: '127.0.2.60', extensions, on: { rcpt } })
  const zone = { 'rcpt.example': { a: [mx.host] }, 'sender.example': { a: [mx.host] } }
  const relay = await startTestRelay({ delivery_port: String(mx.port), delivery_retry_schedule: '1m' }, zone)
  onTestFinished(() => relay.stop())
  await relay.call('PATCH', '/api/account', { delivery_notices: true })

  const held = await submit(relay, 'HOLDFOR=3600 BY=7200;R MT-PRIORITY=-9')
  expect((await relay.call('GET', `/api/emails/${held}`)).body).toMatchObject({
    status: 'scheduled',
    scheduled_at: new Date(relay.clock.now() + 60 * minute).toISOString(),
  })
  expect(await submit(relay, 'HOLDFOR=3600 BY=3600;R')).toMatch(/^501 5\.5\.4 BY leaves 0 seconds/)
  expect(await submit(relay, 'BY=60;R', { header: 'X-Scheduled-At: 2026-12-01T00:00:00Z\r\n' })).toMatch(/^501 5\.5\.4 BY leaves 0 seconds/)
  await relay.restart()
  relay.clock.advance(60 * minute)
  await reaches(relay, held, 'delivered')
  expect(mx.messages[0]?.mailParams).toMatch(/ ?BY=3600;R MT-PRIORITY=-9$/)
  await reaches(relay, await submit(relay, 'MT-PRIORITY=5'), 'delivered')
  expect(mx.messages[1]?.mailParams).toMatch(/ ?MT-PRIORITY=5$/)

  isBusy = true
  const returned = await submit(relay, 'BY=90;R', { to: 'bob@rcpt.example' })
  const late = await submit(relay, 'BY=600;N', { to: 'cat@rcpt.example' })
  for (const id of [returned, late]) await expect.poll(() => relay.events(id)).toContain('email.deferred')
  await relay.restart()
  relay.clock.advance(91_000)
  await reaches(relay, returned, 'bounced')
  const notices = () =>
    mx.messages.slice(2).map(({ data }) => /Final-Recipient: rfc822; (\S+)\s+Action: (\w+)/.exec(data.toString())?.slice(1))
  await expect.poll(notices).toEqual([['bob@rcpt.example', 'failed']])
  const planned = 'select recipient.id from notice join recipient on recipient.id = recipient_id where notice.due_at < recipient.expires_at'
  await expect.poll(() => relay.relay.services.db.read(`${planned} and state = 'deferred'`)).toHaveLength(1)
  relay.clock.advance(9 * minute)
  await expect.poll(notices).toEqual([
    ['bob@rcpt.example', 'failed'],
    ['cat@rcpt.example', 'delayed'],
  ])
  isBusy = false
  relay.clock.advance(2 * minute)
  await reaches(relay, late, 'delivered')
})

test('mail is returned by the time that its submitter gave, however long its content took and whatever it is rescheduled to', async () => {
  const relay = await startTestRelay({}, {})
  onTestFinished(() => relay.stop())
  const expiry = async (id: string): Promise<unknown> => {
    const [row] = await relay.relay.services.db.read('select expires_at from recipient where message_id = :id', { id })
    return row?.['expires_at']
  }
  const begun = relay.clock.now()
  expect(await expiry(await submit(relay, 'HOLDFOR=60 BY=180;R', { seconds: 50 }))).toBe(begun + 3 * minute)

  const returnAt = relay.clock.now() + 120 * minute
  const id = await submit(relay, 'HOLDFOR=3600 BY=7200;R')
  const moveTo = (minutes: number) =>
    relay.call('PATCH', `/api/emails/${id}`, { scheduled_at: new Date(relay.clock.now() + minutes * minute).toISOString() })
  expect(await moveTo(110)).toMatchObject({ status: 200 })
  expect(await expiry(id)).toBe(returnAt)
  const { status, body } = await moveTo(121)
  expect([status, body.message]).toEqual([409, expect.stringContaining('has asked to have it back by')])
  expect(await moveTo(30)).toMatchObject({ status: 200 })
  expect(await expiry(id)).toBe(returnAt)
})

test('mail with REQUIRETLS goes only to a host that passes it on, its bounce too, across a restart', async () => {
  const certificate = await testCertificate(['smart.example'])
  const extensions = ['PIPELINING', 'REQUIRETLS']
  const rcpt = (address: string) => (address.startsWith('gone') ? '550 5.1.1 No such user' : undefined)
  const mx = await testMx({ host: '127.0.2.62', tls: certificate, extensions, on: { rcpt } })
  const authorities = authorityFile(certificate)
  const settings = { delivery_smarthost: `smart.example:${mx.port}`, delivery_smarthost_ca: authorities, delivery_retry_schedule: '1m' }
  const relay = await startTestRelay(settings, { 'smart.example': { a: [mx.host] } })
  onTestFinished(() => relay.stop())
  await relay.call('PATCH', '/api/account', { delivery_notices: true })
  const told = (): boolean[] => mx.messages.map(({ mailParams }) => /\bREQUIRETLS\b/.test(mailParams))

  const held = await submit(relay, 'HOLDFOR=600 REQUIRETLS', { header: 'TLS-Required: No\r\n' })
  await relay.restart()
  relay.clock.advance(10 * minute)
  await reaches(relay, held, 'sent')
  expect((await relay.call('GET', `/api/emails/${held}`)).body.require_tls).toBe(true)
  expect((await relay.call('GET', `/api/emails/${held}/attempts`)).body.data).toMatchObject([
    { outcome: 'delivered', tls: { verified: true }, tls_policy: 'verify', tls_policy_source: 'message' },
  ])
  const byApi = await relay.send('ann@rcpt.example', { require_tls: true })
  await reaches(relay, byApi, 'sent')
  expect(told()).toEqual([true, true])

  await reaches(relay, await submit(relay, 'REQUIRETLS RET=FULL', { to: 'gone@rcpt.example' }), 'bounced')
  const [, , bounce] = await mx.waitForMessages(3)
  expect(bounce?.rcptTo).toEqual(['bounces@sender.example'])
  expect(bounce?.data.toString()).not.toContain('The body.')
  expect(told()).toEqual([true, true, true])

  const optional = await relay.send('ann@rcpt.example', { require_tls: false })
  await reaches(relay, optional, 'sent')
  const given = await relay.send('ann@rcpt.example', { headers: { 'tls-required': 'no' } })
  await reaches(relay, given, 'sent')
  const submitted = await submit(relay, '', { header: 'TLS-Required: No\r\n' })
  await reaches(relay, submitted, 'sent')
  for (const id of [optional, given, submitted]) expect((await relay.call('GET', `/api/emails/${id}`)).body.require_tls).toBe(false)
  const fields = mx.messages.slice(3).map(({ data }) => data.toString().match(/^TLS-Required: *No\r$/gim)?.length)
  expect(fields).toEqual([1, 1, 1])

  mx.options.extensions = ['PIPELINING']
  await relay.restart()
  const lost = await submit(relay, 'REQUIRETLS')
  await reaches(relay, lost, 'bounced')
  expect((await relay.call('GET', `/api/emails/${lost}`)).body.recipients).toMatchObject([
    { last_response: expect.stringMatching(/^5\.7\.30 .*REQUIRETLS/) as string, explanation: { code: 'require_tls', owner: 'sender' } },
  ])
  expect(told().filter(Boolean)).toHaveLength(3)
})

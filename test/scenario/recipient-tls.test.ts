import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testCertificate } from '../support/test-certificates.ts'

const host = '127.0.2.44'

test('mail to a domain whose policy no host fulfils waits, under the policy of the settings or of its account, and its bounce names it', async () => {
  const mx = await startFakeMx({ host, tls: await testCertificate(['mx.rcpt.example']) })
  onTestFinished(() => mx.close())
  const plain = await startFakeMx({ host: '127.0.2.45', port: mx.port })
  onTestFinished(() => plain.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port), delivery_recipient_tls: 'plain.example=require,.rcpt.example=verify', delivery_retry_schedule: '1m' },
    {
      'rcpt.example': { mx: [[0, 'mx.rcpt.example']] },
      'sub.rcpt.example': { mx: [[0, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: [host] },
      'plain.example': { a: [plain.host] },
    },
  )
  onTestFinished(() => relay.stop())
  const attemptsOf = async (id: string) => (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
  const first = async (to: string, fields = {}) => {
    const id = await relay.send(to, fields)
    await expect.poll(async () => (await attemptsOf(id)).length).toBe(1)
    return { id, attempt: (await attemptsOf(id))[0] }
  }
  const waits = (policy: string) => ({
    outcome: 'deferred',
    tls_policy: policy,
    tls_policy_source: 'operator',
    reply: expect.stringContaining(`TLS is required by the policy ${policy}`) as string,
    explanation: { code: 'tls', cause: 'TLS is required for this mail, and the receiving server does not offer it as required.' },
  })

  expect((await first('ann@plain.example')).attempt).toMatchObject(waits('require'))
  expect((await first('ann@sub.rcpt.example')).attempt).toMatchObject(waits('verify'))
  expect((await first('ann@rcpt.example')).attempt).toMatchObject({
    outcome: 'delivered',
    tls: { verified: false },
    tls_policy: 'opportunistic',
  })

  const { accounts, apiKeys } = relay.relay.services
  const { id: accountId } = accounts.getAccount('test')
  const { token } = await apiKeys.create({ accountId, name: 'op', permission: 'operator' })
  const change = (domains: unknown) =>
    relay.call('PATCH', `/api/accounts/${accountId}/recipient-tls`, { domains }, { authorization: `Bearer ${token}` })
  const below = { domain: '.rcpt.example', policy: 'verify' }
  const own = [{ domain: 'rcpt.example', policy: 'verify' }, below]
  expect(await change(own)).toMatchObject({ status: 200, body: { domains: own, own: { domains: own } } })
  // The connection that is open was opened under no policy.
  const { id, attempt } = await first('bob@rcpt.example', { expires_in: 120 })
  expect(attempt).toMatchObject(waits('verify'))
  expect((await first('ann@plain.example')).attempt).toMatchObject({ outcome: 'delivered', tls: null, tls_policy: 'opportunistic' })
  await change([{ domain: 'rcpt.example', policy: 'require' }, below])
  expect((await first('cat@rcpt.example')).attempt).toMatchObject({ outcome: 'delivered', tls: { verified: false }, tls_policy: 'require' })
  await change(own)

  relay.clock.advance(200_000)
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('bounced')
  expect((await relay.recipients(id))['bob@rcpt.example']?.last_response).toContain('TLS is required by the policy verify')
  expect(mx.messages.map(({ rcptTo }) => rcptTo[0])).toEqual(['ann@rcpt.example', 'cat@rcpt.example'])

  for (const wrong of [[{ domain: 'a.example', policy: 'strict' }], [{ domain: 'a_b', policy: 'verify' }], 'a.example=verify', [{}]])
    expect(await change(wrong)).toMatchObject({ status: 422 })
  expect((await change(null)).body.domains).toHaveLength(2)
})

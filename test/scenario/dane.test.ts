import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import type { FakeRecords } from '../support/fake-dns.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testCertificate, tlsaOf, type TestCertificate } from '../support/test-certificates.ts'

const host = '127.0.2.46'

function records(certificate: TestCertificate): FakeRecords {
  const { usage, selector, matchingType, data } = tlsaOf(certificate, [3, 1, 1])
  return { tlsa: [[usage, selector, matchingType, data.toString('hex')]], secure: true }
}

test('mail goes by DANE while a name server validates; what was under it waits when that ends, and its bounce says why', async () => {
  const [own, other] = await Promise.all([testCertificate(['mx.rcpt.example']), testCertificate(['mx.rcpt.example'])])
  const mx = await startFakeMx({ host, tls: own })
  onTestFinished(() => mx.close())
  const signed = { mx: [[0, 'mx.rcpt.example']] as [number, string][], secure: true }
  const at = `_${mx.port}._tcp.mx.rcpt.example`
  const relay = await startTestRelay(
    { delivery_port: String(mx.port), delivery_recipient_tls: 'plain.example=dane,strict.example=dane', delivery_retry_schedule: '1m' },
    {
      '.': { ns: ['a.root.example'], secure: true },
      'rcpt.example': signed,
      'late.example': signed,
      'strict.example': signed,
      'plain.example': { mx: [[0, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: [host], secure: true },
      [at]: records(own),
    },
  )
  onTestFinished(() => relay.stop())
  const attemptsOf = async (id: string) => (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
  const first = async (to: string, fields = {}) => {
    const id = await relay.send(to, fields)
    await expect.poll(async () => (await attemptsOf(id)).length).toBe(1)
    return { id, attempt: (await attemptsOf(id))[0] }
  }
  const waits = (result: string, source = 'dane') => ({
    outcome: 'deferred',
    tls_policy: 'dane',
    tls_policy_source: source,
    reply: expect.stringContaining(result) as string,
    explanation: { code: 'tls' },
  })

  const proved = { outcome: 'delivered', tls: { verified: true }, tls_policy: 'dane' }
  expect((await first('ann@rcpt.example')).attempt).toMatchObject({ ...proved, tls_policy_source: 'dane' })
  expect((await first('ann@strict.example')).attempt).toMatchObject({ ...proved, tls_policy_source: 'operator' })
  expect((await first('ann@plain.example')).attempt).toMatchObject(waits('dane-required', 'operator'))

  relay.dns.zone[at] = records(other)
  expect((await first('ann@late.example')).attempt).toMatchObject(waits('no TLSA record matches'))

  // An attacker, or a resolver that has stopped validating.
  for (const name of ['.', 'rcpt.example', 'mx.rcpt.example', at])
    relay.dns.zone[name] = { ...(relay.dns.zone[name] as FakeRecords), secure: false }
  const { id, attempt } = await first('bob@rcpt.example', { expires_in: 120 })
  expect(attempt).toMatchObject(waits('dnssec-invalid'))
  expect(await relay.call('GET', '/healthz')).toMatchObject({
    status: 200,
    body: { faults: [{ name: 'dnssec', message: expect.stringContaining('no longer protects mail: 127.') as string }] },
  })
  relay.clock.advance(200_000)
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('bounced')
  expect((await relay.recipients(id))['bob@rcpt.example']?.last_response).toContain('TLS is required by the policy dane')
  expect(mx.messages.map(({ rcptTo }) => rcptTo[0])).toEqual(['ann@rcpt.example', 'ann@strict.example'])
})

test('nothing is asked for DANE where the domain is not signed', async () => {
  const mx = await startFakeMx({ host: '127.0.2.47' })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    {
      '.': { ns: ['a.root.example'], secure: true },
      'rcpt.example': { mx: [[0, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: [mx.host], secure: true },
      [`_${mx.port}._tcp.mx.rcpt.example`]: 'servfail',
    },
  )
  onTestFinished(() => relay.stop())
  await relay.send('ann@rcpt.example')
  await mx.waitForMessages(1)
  const asked = relay.dns.queries.filter(({ name }) => name.endsWith('rcpt.example')).map(({ type, name }) => `${type} ${name}`)
  expect(asked.toSorted()).toEqual(['A mx.rcpt.example', 'AAAA mx.rcpt.example', 'MX rcpt.example', 'TXT _mta-sts.rcpt.example'])
})

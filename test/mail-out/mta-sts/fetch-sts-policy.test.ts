import type { IncomingMessage, ServerResponse } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { fetchStsPolicy, type Fetched, type FetchFault } from '../../../src/mail-out/mta-sts/fetch-sts-policy.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { answerWith, policyHost, policyText, type PolicyHost } from '../../support/policy-host.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

const name = 'mta-sts.rcpt.example'
const text = policyText('enforce', ['mx.rcpt.example'])

let certificates: Record<'good' | 'selfSigned' | 'expired' | 'otherName', TestCertificate>
beforeAll(async () => {
  const [good, selfSigned, expired, otherName] = await Promise.all([
    testCertificate([name]),
    testCertificate([name]),
    testCertificate([name], { expired: true }),
    testCertificate(['rcpt.example', '*.example']),
  ])
  certificates = { good, selfSigned, expired, otherName }
})

function fetchFrom(
  host: PolicyHost,
  { addresses = [host.host], mayConnect = (address: string): boolean => address !== '', signal = AbortSignal.timeout(60_000) } = {},
): Promise<Fetched> {
  const authorities = [certificates.good, certificates.expired, certificates.otherName].map(({ cert }) => cert)
  const resolver = fakeResolver({ [name]: { a: addresses } })
  return fetchStsPolicy('rcpt.example', { resolver, mayConnect }, { port: host.port, authorities, signal })
}

test('a policy is fetched from its place', async () => {
  const host = await policyHost(certificates.good, answerWith(text, 200, { 'content-type': 'text/plain; charset=utf-8' }))
  expect(await fetchFrom(host)).toEqual({ policy: { mode: 'enforce', mx: ['mx.rcpt.example'], maxAgeMs: 604_800_000 } })
  expect(host.requests).toEqual([`${name}/.well-known/mta-sts.txt`])
})

test.each<[string, PolicyHost['answer'], FetchFault['type'], string]>([
  [
    'a redirect',
    answerWith('', 301, { location: '/policy.txt' }),
    'sts-policy-fetch-error',
    'answered with status 301, where only 200 counts',
  ],
  ['another protocol', switching, 'sts-policy-fetch-error', 'answered with status 101'],
  ['an error', answerWith('no', 404), 'sts-policy-fetch-error', 'answered with status 404'],
  ['a page', answerWith('<!doctype html>', 200, { 'content-type': 'text/html' }), 'sts-policy-fetch-error', '"text/html", not text/plain'],
  ['no type', answerWith(text, 200, {}), 'sts-policy-fetch-error', 'not text/plain'],
  ['too much', answerWith(`${text}${'x: y\n'.repeat(20_000)}`), 'sts-policy-fetch-error', 'longer than 64 KiB'],
  [
    'what never ends',
    (_, response) => drip(response.writeHead(200, { 'content-type': 'text/plain' })),
    'sts-policy-fetch-error',
    'longer than 64 KiB',
  ],
  ['what is no policy', answerWith('mode: enforce'), 'sts-policy-invalid', 'its version is missing'],
  ['a connection that breaks off', (_, response) => void response.destroy(), 'sts-policy-fetch-error', 'broke off the connection'],
])('%s is no policy', async (_, answer, type, reason) => {
  expect(await fetchFrom(await policyHost(certificates.good, answer))).toEqual({ fault: { type, reason: expect.stringContaining(reason) } })
})

function switching(_: IncomingMessage, { socket }: ServerResponse): void {
  socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: smtp\r\n\r\n')
}

function drip(response: { write(text: string): boolean; destroyed: boolean }): void {
  if (response.destroyed) return
  response.write('x: y\n'.repeat(1000))
  setImmediate(drip, response)
}

test.each([
  ['selfSigned', 'self-signed'],
  ['expired', 'expired'],
  ['otherName', 'for other names'],
] as const)('with a certificate that is not valid (%s) nothing is fetched', async (which, reason) => {
  const host = await policyHost(certificates[which], answerWith(text))
  expect(await fetchFrom(host)).toEqual({ fault: { type: 'sts-webpki-invalid', reason: expect.stringContaining(reason) } })
  expect(host.requests).toEqual([])
})

test('what has no address, or one that we must not connect to, is not asked', async () => {
  const host = await policyHost(certificates.good, answerWith(text))
  const asked: string[] = []
  const mayConnect = (address: string) => (asked.push(address), false)
  expect(await fetchFrom(host, { mayConnect })).toMatchObject({
    fault: { reason: `${name} is at 127.0.0.1, which is not a public address` },
  })
  expect(await fetchFrom(host, { addresses: [] })).toMatchObject({ fault: { reason: `the name ${name} has no address` } })
  expect([asked, host.requests]).toEqual([['127.0.0.1'], []])
})

test('a fetch that is ended has failed for that reason', async () => {
  const ending = new AbortController()
  const host = await policyHost(certificates.good, () => ending.abort(new Error('it took too long')))
  expect(await fetchFrom(host, { signal: ending.signal })).toEqual({
    fault: { type: 'sts-policy-fetch-error', reason: 'it took too long' },
  })
})

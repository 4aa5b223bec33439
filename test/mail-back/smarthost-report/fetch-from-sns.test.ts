import { beforeAll, expect, test } from 'vitest'
import { fetchFromSns } from '../../../src/mail-back/smarthost-report/fetch-from-sns.ts'
import { SnsCertificates, type FetchFromSns } from '../../../src/mail-back/smarthost-report/sns-certificates.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { answerWith, policyHost, type PolicyHost } from '../../support/policy-host.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

const name = 'sns.eu-central-1.amazonaws.com'
const url = `https://${name}/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem`
let certificate: TestCertificate
beforeAll(async () => {
  certificate = await testCertificate([name])
})

async function sns(answer: PolicyHost['answer'], certified = certificate): Promise<{ host: PolicyHost; fetch: FetchFromSns }> {
  const host = await policyHost(certified, answer)
  const resolver = fakeResolver({ [name]: { a: [host.host] } })
  return { host, fetch: fetchFromSns({ resolver, mayConnect: () => true, port: host.port, authorities: [certified.cert] }) }
}

test('what SNS has at a URL is fetched over TLS', async () => {
  const { host, fetch } = await sns(answerWith(certificate.cert))
  expect(await fetch(url)).toEqual({ status: 200, text: certificate.cert })
  expect(host.requests).toEqual([url.replace('https://', '')])
  host.answer = answerWith('', 302, { location: 'https://elsewhere.example/' })
  expect(await fetch(url)).toEqual({ status: 302, text: '' })
  host.answer = answerWith('x'.repeat(100_000))
  await expect(fetch(url)).rejects.toThrow('longer than 64 KiB')
})

test('not from a host with a certificate for another name, nor from an address of a network of ours', async () => {
  const { fetch } = await sns(answerWith('text'), await testCertificate(['other.example']))
  await expect(fetch(url)).rejects.toThrow(/altnames/)
  const resolver = fakeResolver({ [name]: { a: ['127.0.0.1'] } })
  await expect(fetchFromSns({ resolver, mayConnect: () => false })(url)).rejects.toThrow('not a public address')
})

test('a certificate is kept until it ends, and what is none is not', async () => {
  const clock = settableClock(Date.now())
  let asked = 0
  let answer = { status: 404, text: '' }
  const certificates = new SnsCertificates(clock, async () => {
    asked++
    return answer
  })
  expect(await certificates.at(url)).toBeNull()
  answer = { status: 200, text: 'no certificate' }
  expect(await certificates.at(url)).toBeNull()
  answer = { status: 503, text: '' }
  await expect(certificates.at(url)).rejects.toThrow('status 503')
  answer = { status: 200, text: certificate.cert }
  const found = await Promise.all([certificates.at(url), certificates.at(url)])
  expect(found.map((each) => each?.subject)).toEqual([expect.stringContaining(name), expect.stringContaining(name)])
  expect(asked).toBe(4)
  clock.advance(31 * 86_400_000)
  expect(await certificates.at(url)).toBeNull()
  for (let time = 0; time < 9; time++) await certificates.at(url)
  await expect(certificates.at(url)).rejects.toThrow('within a minute')
  expect(asked).toBe(14)
})

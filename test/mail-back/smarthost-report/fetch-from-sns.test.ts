import { beforeAll, expect, test } from 'vitest'
import { fetchFromSns } from '../../../src/mail-back/smarthost-report/fetch-from-sns.ts'
import type { FetchFromSns } from '../../../src/mail-back/smarthost-report/sns-certificates.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { answerWith, policyHost, type PolicyHost } from '../../support/policy-host.ts'
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

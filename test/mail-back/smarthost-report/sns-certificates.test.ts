import { beforeAll, expect, test } from 'vitest'
import { SnsCertificates } from '../../../src/mail-back/smarthost-report/sns-certificates.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

const name = 'sns.eu-central-1.amazonaws.com'
const url = `https://${name}/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem`
let certificate: TestCertificate
beforeAll(async () => {
  certificate = await testCertificate([name])
})

test('a certificate is kept until it ends, and what is none is not', async () => {
  const clock = settableClock(Date.now())
  let asked = 0
  let answer = { status: 404, text: '' }
  const certificates = new SnsCertificates(clock, async () => {
    asked++
    return answer
  })
  const isFound = (network = '192.0.2.1', at = url) => certificates.prove(at, network, ({ subject }) => subject.includes(name))
  expect(await isFound()).toBe(false)
  answer = { status: 200, text: 'no certificate' }
  expect(await isFound()).toBe(false)
  answer = { status: 503, text: '' }
  await expect(isFound()).rejects.toThrow('status 503')
  answer = { status: 200, text: certificate.cert }
  expect(await Promise.all([isFound(), isFound()])).toEqual([true, true])
  expect(asked).toBe(4)
  clock.advance(31 * 86_400_000)
  expect(await isFound()).toBe(false)
  for (let time = 0; time < 9; time++) await isFound()
  await expect(isFound()).rejects.toThrow('within a minute')
  expect(asked).toBe(14)
  // What one network asks for keeps nobody else waiting.
  expect(await isFound('192.0.2.2')).toBe(false)
})

test('certificates that prove nothing displace none that has', async () => {
  const asked: string[] = []
  const certificates = new SnsCertificates(settableClock(Date.now()), async (from) => {
    asked.push(from)
    return { status: 200, text: certificate.cert }
  })
  const prove = (at: string, network: string, proves: boolean) => certificates.prove(at, network, () => proves)
  expect(await prove(url, '192.0.2.1', true)).toBe(true)
  for (let place = 0; place < 20; place++) expect(await prove(`${url}${place}`, `192.0.2.${place}`, false)).toBe(false)
  expect(await prove(url, '192.0.2.1', true)).toBe(true)
  expect(asked).toHaveLength(21)
})

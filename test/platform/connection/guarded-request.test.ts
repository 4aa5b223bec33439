import { beforeAll, expect, test } from 'vitest'
import { guardedRequest, within } from '../../../src/platform/connection/guarded-request.ts'
import { fakeResolver } from '../../support/fake-resolver.ts'
import { policyHost, type PolicyHost } from '../../support/policy-host.ts'
import { testCertificate, type TestCertificate } from '../../support/test-certificates.ts'

const name = 'host.example'
let certificate: TestCertificate
beforeAll(async () => {
  certificate = await testCertificate([name])
})

async function ask(answer: PolicyHost['answer'], settings: { body?: string; signal?: AbortSignal } = {}) {
  const host = await policyHost(certificate, answer)
  const resolver = fakeResolver({ [name]: { a: [host.host] } })
  return guardedRequest(`https://${name}/path`, {
    resolver,
    mayConnect: () => true,
    port: host.port,
    authorities: [certificate.cert],
    signal: within(60_000),
    ...settings,
  })
}

test('a host that never answers, or stops within its answer, is waited for until the signal', async () => {
  await expect(ask(() => undefined, { signal: within(50) })).rejects.toThrow('it did not answer within 0.05 seconds')
  const stops: PolicyHost['answer'] = (_, response) => void response.writeHead(200).write('a part')
  await expect(ask(stops, { signal: within(500) })).rejects.toThrow('it did not answer within 0.5 seconds')
  await expect(ask(() => undefined, { signal: AbortSignal.abort(new Error('others need the place')) })).rejects.toThrow(
    'others need the place',
  )
})

test('a body is posted with its length in bytes, and without one the URL is fetched', async () => {
  const echo: PolicyHost['answer'] = ({ method, headers }, response) =>
    void response.end(`${method} ${headers['content-length'] ?? 'nothing'}`)
  expect(await ask(echo, { body: 'grün' })).toEqual({ status: 200, text: 'POST 5' })
  expect(await ask(echo)).toEqual({ status: 200, text: 'GET nothing' })
})

test('another protocol is no answer', async () => {
  const switching: PolicyHost['answer'] = (_, { socket }) =>
    void socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: smtp\r\n\r\n')
  await expect(ask(switching)).rejects.toThrow('status 101')
})

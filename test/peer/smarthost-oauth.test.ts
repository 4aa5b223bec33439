import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { postfixDirectory, startPostfixInstance } from '../../bench/postfix-instance.ts'
import { startDovecotSasl } from '../support/dovecot-sasl.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { testCertificate, type TestCertificate } from '../support/test-certificates.ts'
import { startTokenEndpoint, type TokenEndpoint } from '../support/token-endpoint.ts'

/** Postfix with Dovecot's SASL, which asks the token endpoint whose a token is, as a smarthost. */
const host = '127.0.0.33'
const user = 'relay@smart.example'
const files = temporaryDirectory()
const authority = join(files.path, 'ca.pem')
let certificate: TestCertificate
let nextHop: FakeMx

beforeAll(async () => {
  certificate = await testCertificate(['smart.example'])
  writeFileSync(authority, certificate.cert)
  nextHop = await startFakeMx({ host: '127.0.0.34' })
})
afterAll(async () => {
  await nextHop.close()
  files.remove()
})

async function startSmarthost(mechanism: 'xoauth2' | 'oauthbearer', endpoint: TokenEndpoint): Promise<number> {
  const socket = await startDovecotSasl(mechanism, `http://127.0.0.1:${endpoint.port}/userinfo`)
  const at = postfixDirectory()
  const port = await freePort()
  writeFileSync(join(at, 'tls.pem'), certificate.key + certificate.cert, { mode: 0o600 })
  const postfix = await startPostfixInstance(
    at,
    { host, port },
    {
      myhostname: 'smart.example',
      default_transport: `smtp:[${nextHop.host}]:${nextHop.port}`,
      smtpd_tls_security_level: 'may',
      smtpd_tls_cert_file: join(at, 'tls.pem'),
      smtpd_tls_key_file: join(at, 'tls.pem'),
      smtpd_tls_auth_only: 'yes',
      smtpd_sasl_auth_enable: 'yes',
      smtpd_sasl_type: 'dovecot',
      smtpd_sasl_path: socket,
      smtpd_relay_restrictions: 'permit_sasl_authenticated, reject',
    },
  )
  onTestFinished(() => postfix.stop())
  return port
}

test.each(['xoauth2', 'oauthbearer'] as const)(
  'Postfix with Dovecot takes mail after %s; a token that it refuses is replaced at once, and one that stays refused makes mail wait',
  async (mechanism) => {
    const endpoint = await startTokenEndpoint(null)
    const port = await startSmarthost(mechanism, endpoint)
    const relay = await startTestRelay(
      {
        delivery_smarthost: `smart.example:${port}`,
        delivery_smarthost_user: user,
        delivery_smarthost_oauth: 'other',
        delivery_smarthost_oauth_scope: endpoint.application.scope,
        delivery_smarthost_oauth_token_url: `http://127.0.0.1:${endpoint.port}/token`,
        delivery_smarthost_oauth_client_id: endpoint.application.clientId,
        delivery_smarthost_oauth_client_secret: endpoint.application.clientSecret ?? '',
        delivery_smarthost_sender: user,
        delivery_smarthost_ca: authority,
        delivery_idle_connection: '0s',
      },
      { 'smart.example': { a: [host] } },
    )
    onTestFinished(() => relay.stop())
    const recipient = async (id: string) => Object.values(await relay.recipients(id))[0]
    const transcript = async (id: string): Promise<string[]> =>
      (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data[0].transcript.map(({ line }: { line: string }) => line)

    const first = await relay.send(`${mechanism}@rcpt.example`)
    await expect.poll(async () => (await recipient(first))?.status).toBe('sent')
    expect(await transcript(first)).toContain(`AUTH ${mechanism.toUpperCase()}`)
    await expect
      .poll(() => nextHop.messages.filter(({ rcptTo }) => rcptTo[0] === `${mechanism}@rcpt.example`))
      .toMatchObject([{ mailFrom: user }])

    // Somebody revokes it.
    endpoint.given.length = 0
    const second = await relay.send(`again.${mechanism}@rcpt.example`)
    await expect.poll(async () => await recipient(second)).toMatchObject({ status: 'sent', attempts: 1 })
    const lines = await transcript(second)
    expect(lines.filter((line) => line.startsWith('AUTH '))).toHaveLength(2)
    expect(lines).toContainEqual(expect.stringMatching(/^535 5\.7\.8 /))

    // The tokens are somebody else's.
    endpoint.user = 'bob@smart.example'
    endpoint.given.length = 0
    const third = await relay.send(`wrong.${mechanism}@rcpt.example`)
    await expect.poll(async () => (await recipient(third))?.status).toBe('deferred')
    expect((await recipient(third))?.last_response).toMatch(/535 5\.7\.8/)
  },
  120_000,
)

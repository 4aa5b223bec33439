import { execFile } from 'node:child_process'
import { expect, test } from 'vitest'
import { startTestReturnPath } from '../support/return-path.ts'

/** What swaks, which open relays are tried with, finds at the return path. */
const relay = await startTestReturnPath()

/** swaks ends with 0 where the message was taken, with 24 where no recipient was. */
function swaks(...options: string[]): Promise<{ code: number; said: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; said: string }>()
  execFile('swaks', ['--server', '127.0.0.1', '--port', String(relay.port), ...options], (error, said) => {
    resolve({ code: error ? Number(error.code) : 0, said })
  })
  return promise
}

test('mail for addresses of ours is taken, over TLS and without', async () => {
  const bounce = `${relay.token('bounce')}@relay.example`
  for (const options of [[], ['-tls'], ['--pipeline'], ['-tls', '--pipeline']]) {
    for (const to of [bounce, 'postmaster@send.customer.example', 'postmaster']) {
      const { code, said } = await swaks('--from', '<>', '--to', to, ...options)
      expect(code, said).toBe(0)
      expect(said).toContain('250 2.0.0 Ok: accepted as rep_')
    }
  }
  const { said } = await swaks('-tls', '--to', 'postmaster@relay.example', '--quit-after', 'EHLO')
  expect(said).toMatch(/TLSv1\.[23]/)
  expect(said).not.toContain('AUTH')
})

const forms = [
  'user@example.net',
  'user%example.net@relay.example',
  'user%example.net',
  '"user@example.net"@relay.example',
  '"user%example.net"@relay.example',
  '@relay.example:user@example.net',
  'example.net!user@relay.example',
  'example.net!user',
  'user@example.net@relay.example',
  'user@[127.0.0.1]',
  'user@localhost',
  'user',
  'postmaster@example.net',
]
test.each(forms)('nothing is relayed to %s', async (to) => {
  for (const from of ['<>', 'spammer@example.org', 'postmaster@relay.example', 'user@example.net', 'user@[127.0.0.1]', 'user@localhost']) {
    const { code, said } = await swaks('--from', from, '--to', to, '--quit-after', 'RCPT')
    // 23: the sender is refused already.
    expect([23, 24], `${from}\n${said}`).toContain(code)
    expect(said).not.toContain('354 ')
  }
})

test('nobody logs in', async () => {
  for (const options of [[], ['-tls']]) {
    const { code, said } = await swaks(
      '--auth',
      '--auth-user',
      'any',
      '--auth-password',
      'x',
      '--to',
      'postmaster@relay.example',
      ...options,
    )
    // Authentication is not offered.
    expect(code, said).toBe(28)
  }
})

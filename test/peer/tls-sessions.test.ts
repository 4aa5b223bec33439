import { execFile } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { startPostfixMailbox } from '../support/postfix-mailbox.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const host = '127.0.0.35'

describe('with us as client', () => {
  test.each([
    ['TLSv1.3', '>=TLSv1.2'],
    ['TLSv1.2', 'TLSv1.2'],
  ])('Postfix resumes our session of %s, but never after its tickets were switched off', async (version, protocols) => {
    const log = `/var/log/sterna-test-sessions-${process.pid}-${version}.log`
    const mailbox = async (settings: Record<string, string>) =>
      startPostfixMailbox(
        { host, port },
        {
          smtpd_tls_loglevel: '2',
          maillog_file: log,
          smtpd_tls_mandatory_protocols: protocols,
          smtpd_tls_protocols: protocols,
          ...settings,
        },
      )
    const port = await freePort()
    const first = await mailbox({})
    onTestFinished(() => rmSync(log, { force: true }))
    const relay = await startTestRelay(
      { delivery_port: String(port), delivery_idle_connection: '0s' },
      { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } },
    )
    onTestFinished(() => relay.stop())
    const seen: [isResumed: boolean, tls: unknown][] = []
    const send = async (): Promise<void> => {
      const id = await relay.send('ann@rcpt.example')
      await expect.poll(async () => (await relay.recipients(id))['ann@rcpt.example']?.status, { timeout: 20_000 }).toBe('delivered')
      const [attempt] = (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
      seen.push([JSON.stringify(attempt.transcript).includes('session resumed'), attempt.tls.version])
    }
    try {
      for (let i = 0; i < 3; i++) await send()
    } finally {
      first.stop()
    }
    const logged = (): number => readFileSync(log, 'utf8').match(/: [Rr]eusing old session/g)?.length ?? 0
    await expect.poll(logged, { timeout: 5_000 }).toBe(2)
    // Its certificate and its keys are new too.
    const second = await mailbox({ smtpd_tls_session_cache_timeout: '0s' })
    onTestFinished(() => second.stop())
    for (let i = 0; i < 2; i++) await send()
    expect(seen).toEqual([false, true, true, false, false].map((isResumed) => [isResumed, version]))
  })
})

describe('with us as server', () => {
  let relay: TestRelay
  beforeEach(async () => {
    relay = await startTestRelay()
    onTestFinished(() => relay.stop())
  })

  const execute = promisify(execFile)
  /** What a client says of its session. */
  async function openssl(...options: string[]): Promise<string> {
    const at = ['-starttls', 'smtp', '-connect', `127.0.0.1:${relay.submissionPort}`]
    const running = execute('openssl', ['s_client', ...at, ...options])
    running.child.stdin?.end('QUIT\r\n')
    const { stdout } = await running
    return /^(?:New|Reused), (?=TLS)/m.exec(stdout)?.[0] ?? stdout
  }

  test.each(['-tls1_3', '-tls1_2'])('openssl s_client resumes its session after a restart: %s', async (version) => {
    const file = join(testDirectory(), 'session.pem')
    expect(await openssl(version, '-sess_out', file, '-ign_eof')).toBe('New, ')
    expect(await openssl(version, '-sess_in', file, '-ign_eof')).toBe('Reused, ')
    await relay.restart()
    expect(await openssl(version, '-sess_in', file, '-ign_eof')).toBe('Reused, ')
    relay.clock.advance(3 * 24 * 60 * 60_000)
    await relay.restart()
    expect(await openssl(version, '-sess_in', file, '-ign_eof')).toBe('New, ')
  })

  test('Postfix resumes its sessions', async () => {
    const { stdout, stderr } = await execute('posttls-finger', [
      '-c',
      '-r',
      '1',
      '-m',
      '2',
      '-L',
      'summary,cache',
      `[127.0.0.1]:${relay.submissionPort}`,
    ])
    const said = stdout + stderr
    expect(said).toMatch(/TLS connection established/)
    expect(said).toMatch(/TLS connection reused|Server session reused|[Rr]eus(?:ed|ing)/)
  })
})

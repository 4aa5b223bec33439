import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCommandLine } from '../../support/run-commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'sterna-replies-'))
afterAll(() => rmSync(directory, { recursive: true }))

async function explain(...lines: string[]) {
  writeFileSync(join(directory, 'replies.jsonl'), lines.join('\n'))
  const { stdout, ...rest } = await runCommandLine(['reply', 'explain', 'replies.jsonl'], { cwd: directory })
  return {
    ...rest,
    told:
      stdout === ''
        ? []
        : stdout
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as Record<string, unknown>),
  }
}

const line = (host: string | null, phase: string | null, reply: string): string => JSON.stringify({ host, phase, reply })

test('a line of JSON for each reply', async () => {
  const { told, stderr, exitCode } = await explain(
    line('outlook-com.olc.protection.outlook.com', 'MAIL FROM', '550 5.7.606 Access denied, banned sending IP [192.0.2.1]'),
    '',
    line('mx.b.example', 'rcpt', '550-5.1.1 There is no\r\n550 5.1.1 such user'),
    line('mx.b.example', 'rcpt', '451 4.7.1 Greylisted'),
    line(null, 'dot', '250 2.0.0 queued'),
  )
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
  expect(told).toEqual([
    {
      cause: 'reputation',
      owner: 'operator',
      effect: 'rest_address',
      hard: false,
      next_step: expect.stringMatching(/ See https:\/\/sender\.office\.com\/$/),
      entry: 'microsoft-ip-banned',
    },
    {
      cause: 'invalid_recipient',
      owner: 'recipient',
      effect: 'suppress',
      hard: true,
      next_step: expect.any(String),
      entry: 'unknown-recipient',
    },
    { cause: 'greylisting', owner: 'provider', effect: 'defer', hard: false, next_step: expect.any(String), entry: 'greylisted' },
    { cause: 'none', owner: 'recipient', effect: 'deliver', hard: false, next_step: expect.any(String), entry: null },
  ])
})

test.each([
  ['no JSON', 'qwertz', 'must be a JSON object'],
  ['a list', '[]', 'must be a JSON object'],
  ['no reply', '{"host":null,"phase":null}', '"reply" must be a text that begins with a code'],
  ['a reply without a code', line(null, null, 'User unknown'), '"reply" must be a text that begins with a code'],
  ['a host that is a number', '{"host":1,"phase":null,"reply":"550 no"}', '"host" and "phase" must be texts'],
  ['an unknown phase', line(null, 'lunch', '550 no'), '"phase" must be one of banner, ehlo, starttls, mail, rcpt, data, dot'],
])('%s is told of by its place, and the others are still explained', async (_, wrong, fault) => {
  const { told, stderr, exitCode } = await explain(line(null, null, '550 5.1.1 User unknown'), wrong)
  expect(told).toHaveLength(1)
  expect(stderr).toMatch(/^sterna: replies\.jsonl:2: /)
  expect(stderr).toContain(fault)
  expect(exitCode).toBe(1)
})

test.each([
  ['mx.google.com', 'dot', '550 5.7.30 This mail has been blocked because DKIM did not pass', 'authentication', 'sender'],
  ['smtp.office365.com', 'ehlo', '550 5.7.30 Basic authentication is not supported for Client Submission', 'login', 'operator'],
  ['mx.b.example', 'mail', '550 5.7.30 REQUIRETLS support required', 'require_tls', 'sender'],
  ['mx.google.com', 'rcpt', '550 5.2.1 The email account that you tried to reach is inactive', 'invalid_recipient', 'recipient'],
  [
    'mx.google.com',
    'rcpt',
    '550 5.2.1 The user you are trying to contact is receiving mail at a rate that is too high',
    'recipient_rate',
    'recipient',
  ],
  ['mx.b.example', 'banner', '554 5.7.1 Denied', 'server_refused', 'operator'],
  ['mx.b.example', 'dot', '554 5.7.1 Denied', 'policy', 'sender'],
])('words and phase decide, not the code alone: %s at %s, "%s"', async (host, phase, reply, cause, owner) => {
  const { told } = await explain(line(host, phase, reply))
  expect(told).toMatchObject([{ cause, owner }])
})

test('a hostile reply of any length is explained', async () => {
  const hostile = ['blocked by ', 'domain ', '550 5.1.1 ', 'a@', 'x'].map((piece) =>
    line(null, 'dot', `550 ${piece.repeat(8192 / piece.length)}`),
  )
  expect((await explain(...hostile)).told).toHaveLength(hostile.length)
})

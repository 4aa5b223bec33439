import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCommandLine } from '../../support/run-commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'sterna-feedback-'))
afterAll(() => rmSync(directory, { recursive: true }))

const parse = (...files: string[]) => runCommandLine(['feedback', 'parse', ...files], { cwd: directory })

test('a line of JSON for each file, without a data directory', async () => {
  const status =
    'Final-Recipient: rfc822; a@b.example\nAction: failed\nStatus: 5.1.1\n\nFinal-Recipient: rfc822; well@b.example\nAction: delivered\nStatus: 2.0.0\n'
  writeFileSync(
    join(directory, 'a bounce.eml'),
    `Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n${status}\n--b--\n`,
  )
  writeFileSync(join(directory, 'person.eml'), 'From: a@b.example\nSubject: Hello\n\nHi.\n')
  writeFileSync(join(directory, 'unreadable.eml'), `X: ${'x'.repeat(2_000_000)}\n\n`)
  const absolute = join(directory, 'person.eml')
  const { stdout, stderr, exitCode } = await parse('a bounce.eml', 'missing.eml', absolute, 'unreadable.eml')
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  ).toEqual([
    {
      file: 'a bounce.eml',
      class: 'bounce',
      recipients: [{ address: 'a@b.example', hard: true, status: '5.1.1', category: 'invalid_recipient' }],
    },
    { file: absolute, class: 'not-bounce', recipients: [] },
    { file: 'unreadable.eml', class: 'not-bounce', recipients: [] },
  ])
  expect(stderr).toBe('sterna: There is no file missing.eml.\n')
  expect(exitCode).toBe(1)
  expect(await parse('person.eml')).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await parse()).toMatchObject({ exitCode: 2, stdout: '' })
})

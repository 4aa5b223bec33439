import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, expect, test } from 'vitest'
import { runCommand } from '../../../src/clients/command/command-line.ts'
import { openCommandServices } from '../../../src/clients/command/open-command-services.ts'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

async function start() {
  const directory = testDirectory()
  const config = loadConfig({ env: { STERNA_DATA_DIR: join(directory, 'data'), STERNA_HOSTNAME: 'mail.example.com' } })
  const { services, close } = await openCommandServices(config, silentLog)
  onTestFinished(close)
  await services.accounts.create('acme', 'free')
  return {
    services,
    async importFile(text: string | Buffer, ...options: string[]) {
      writeFileSync(join(directory, 'export'), text)
      const argv = ['import', 'suppressions', 'export', '--account', 'acme', ...options]
      return runCommand({ argv, cwd: directory }, services)
    },
    /** `address origin date reason` of each entry, in the order of their times. */
    async listed() {
      const rows = await services.db.slowRead<{ address: string; origin: string; created_at: number; reason: string | null }>(
        'select address, origin, created_at, reason from suppression order by id',
      )
      return rows.map(({ address, origin, created_at: at, reason }) => [address, origin, new Date(at).toISOString().slice(0, 19), reason])
    },
  }
}

const at = '2019-12-17T13:58:33'
const [ann, bob, cyd] = ['ann@example.com', 'bob@example.com', 'cyd@example.com']

test.each<[service: string, what: string, text: string, expected: unknown[]]>([
  [
    'resend',
    'list of the API',
    `{"object":"list","has_more":false,"data":[{"object":"suppression","id":"e1","email":"${ann}","origin":"bounce","source_id":null,
      "created_at":"2019-12-17T13:58:33.678Z"},{"email":"${bob}","origin":"manual","created_at":"2019-12-17 13:58:34.000+00"}]}`,
    [
      [ann, 'bounce', at, null],
      [bob, 'manual', '2019-12-17T13:58:34', null],
    ],
  ],
  [
    'sendgrid',
    'bounces, CSV',
    `status,reason,email,created\r\n5.1.1,"550 5.1.1, gone\nfor ever",${ann},1576591113\r\n`,
    [[ann, 'bounce', at, '550 5.1.1, gone\nfor ever']],
  ],
  ['sendgrid', 'bounces', `[{"created":1576591113,"email":"${ann}","reason":"550 no","status":"5.1.1"}]`, [[ann, 'bounce', at, '550 no']]],
  ['sendgrid', 'invalid emails', `[{"created":1576591113,"email":"${ann}","reason":"Mail domain"}]`, [[ann, 'bounce', at, 'Mail domain']]],
  ['sendgrid', 'spam reports', `[{"created":1576591113,"email":"${ann}","ip":"192.0.2.1"}]`, [[ann, 'complaint', at, null]]],
  ['sendgrid', 'unsubscribes', `\ufeffEmail,Created\n${ann},2019-12-17 13:58:33\n`, [[ann, 'unsubscribe', at, null]]],
  ['sendgrid', 'group', `["${ann}"]`, [[ann, 'unsubscribe', '2026-11-21', null]]],
  [
    'mailgun',
    'bounces',
    `{"items":[{"address":"${ann}","code":"550","error":"No such mailbox","created_at":"Tue, 17 Dec 2019 13:58:33 UTC"}],"paging":{"first":"x","next":"y"}}`,
    [[ann, 'bounce', at, 'No such mailbox']],
  ],
  ['mailgun', 'complaints, CSV', `address,created_at\n${ann},"Tue, 17 Dec 2019 13:58:33 GMT"\n`, [[ann, 'complaint', at, null]]],
  [
    'mailgun',
    'unsubscribes',
    `{"items":[{"address":"${ann}","tags":["*"],"created_at":"Tue, 17 Dec 2019 13:58:33 UTC"}]}`,
    [[ann, 'unsubscribe', at, null]],
  ],
  [
    'postmark',
    'dump',
    `{"Suppressions":[{"EmailAddress":"${ann}","SuppressionReason":"ManualSuppression","Origin":"Recipient","CreatedAt":"2019-12-17T08:58:33-05:00"},
      {"EmailAddress":"${bob}","SuppressionReason":"HardBounce","Origin":"Recipient","CreatedAt":"2019-12-17T08:58:34-05:00"},
      {"EmailAddress":"${cyd}","SuppressionReason":"SpamComplaint","Origin":"Recipient","CreatedAt":"2019-12-17T08:58:35-05:00"},
      {"EmailAddress":"dan@example.com","SuppressionReason":"ManualSuppression","Origin":"Customer","CreatedAt":"2019-12-17T08:58:36-05:00"}]}`,
    [
      [ann, 'unsubscribe', at, null],
      [bob, 'bounce', '2019-12-17T13:58:34', null],
      [cyd, 'complaint', '2019-12-17T13:58:35', null],
      ['dan@example.com', 'manual', '2019-12-17T13:58:36', null],
    ],
  ],
  [
    'ses',
    'list of the command line',
    `{\n"SuppressedDestinationSummaries": [\n{\n"EmailAddress": "${ann}",\n"Reason": "COMPLAINT",\n"LastUpdateTime": "2019-12-17T13:58:33.123000+00:00"\n}\n],\n"NextToken": "t"\n}`,
    [[ann, 'complaint', at, null]],
  ],
  [
    'ses',
    'CSV of its import',
    `${ann},BOUNCE\n${bob},COMPLAINT\n`,
    [
      [ann, 'bounce', '2026-11-21', null],
      [bob, 'complaint', '2026-11-21', null],
    ],
  ],
  ['ses', 'lines of its import', `{"emailAddress":"${ann}","reason":"BOUNCE"}\n`, [[ann, 'bounce', '2026-11-21', null]]],
  [
    'postal',
    'tab-separated',
    `id\ttype\taddress\treason\ttimestamp\tkeep_until\n1\trecipient\t${ann}\ttoo many soft fails\t1576591113.1\t9999999999.5\n`,
    [[ann, 'bounce', at, 'too many soft fails']],
  ],
])('%s: %s', async (service, _, text, expected) => {
  const { importFile, listed } = await start()
  const count = expected.length
  expect(await importFile(text, '--from', service)).toEqual({
    stdout: `imported ${count}, already there 0, refused 0\n`,
    stderr: '',
    exitCode: 0,
  })
  // What has no time of its own has today's, whenever this runs.
  const today = new Date().toISOString().slice(0, 10)
  const dated = (await listed()).map(([address, origin, time, reason]) => [
    address,
    origin,
    time?.startsWith(today) ? '2026-11-21' : time,
    reason,
  ])
  expect(dated).toEqual(expected)
  expect((await importFile(text, '--from', service)).stdout).toBe(`imported 0, already there ${count}, refused 0\n`)
})

test('what cannot be taken is named by its line, and the rest is taken', async () => {
  const { importFile, listed } = await start()
  const text = [
    'EmailAddress;Reason;LastUpdateTime',
    `${ann};BOUNCE;2019-12-17`,
    'not an address;BOUNCE;2019-12-17',
    `${bob};WHIM;2019-12-17`,
    ';BOUNCE;2019-12-17',
    '',
    'ANN@example.com;BOUNCE;2019-12-18',
    `${cyd};COMPLAINT;2999-01-01`,
  ]
  const { stdout, stderr, exitCode } = await importFile(text.join('\r\n'), '--from', 'ses')
  expect([stdout, exitCode]).toEqual(['imported 2, already there 1, refused 3\n', 1])
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^line 3: "not an address" is not an address: /),
    'line 4: "WHIM" is not a known reason for a suppression',
    'line 5: there is no address. Is the file from the service that --from names?',
  ])
  const [first, second] = await listed()
  expect(first).toEqual([ann, 'bounce', '2019-12-17T00:00:00', null])
  expect(Date.parse(String(second?.[2]))).toBeLessThan(Date.now() + 1000)
})

test('the user may say what the entries are, and whose sandbox they concern', async () => {
  const { importFile, listed, services } = await start()
  await importFile(`email\n${ann}\n`, '--from', 'sendgrid', '--origin', 'manual', '--sandbox')
  expect((await listed()).map(([address, origin]) => [address, origin])).toEqual([[ann, 'manual']])
  expect(await services.db.slowRead('select sandbox from suppression')).toEqual([{ sandbox: 1 }])
})

test('what somebody unsubscribed from may be named, and stands with those entries only', async () => {
  const { importFile, services } = await start()
  const entries = [
    `{"EmailAddress":"${ann}","SuppressionReason":"ManualSuppression","Origin":"Recipient"}`,
    `{"EmailAddress":"${bob}","SuppressionReason":"HardBounce","Origin":"Recipient"}`,
  ]
  const dump = `{"Suppressions":[${entries.join(',')}]}`
  for (const topic of ['news', 'offers']) await importFile(dump, '--from', 'postmark', '--topic', topic)
  expect(await services.db.slowRead('select address, topic from suppression order by address, topic')).toEqual([
    { address: ann, topic: 'news' },
    { address: ann, topic: 'offers' },
    { address: bob, topic: '' },
  ])
})

test.each([
  ['Name,Phone\nAnn,1\n', [], 'no column with an address'],
  [`email,created\n${ann},1\n${bob},"1\n`, [], 'rest of the file cannot be read'],
  [`email\n${ann}\n`, ['--topic', 'two words'], 'A topic must be'],
  [`email\n${'x'.repeat(70_000)}\n`, [], 'rest of the file cannot be read'],
  [`[{"email":"${ann}"},`, [], 'rest of the file cannot be read'],
  ['x', ['--from', 'mailchimp'], 'It must be one of: sterna, resend', 2],
  ['x', ['--origin', 'whim'], 'It must be one of: bounce', 2],
])('%j with %j fails and says why', async (text, options, message, code = 1) => {
  const { importFile } = await start()
  const { stderr, exitCode } = await importFile(text, '--from', 'sendgrid', ...options)
  expect(exitCode).toBe(code)
  expect(stderr).toContain(message)
})

test('a file that does not exist is named', async () => {
  const { services } = await start()
  const argv = ['import', 'suppressions', '/nowhere.csv', '--account', 'acme', '--from', 'ses']
  expect(await runCommand({ argv, cwd: '/' }, services)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('/nowhere.csv') })
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { declaredOperations } from '../../../src/clients/command/api-command.ts'
import { isCommand, operationCommands } from '../../../src/clients/command/operation-commands.ts'
import { commonOptions, failed, ownOptions, parseCommand, runCommand } from '../../../src/clients/command/command-line.ts'
import { commands } from '../../../src/clients/command/command-list.ts'
import { confirm } from '../../../src/clients/command/confirm.ts'
import type { CommandResult } from '../../../src/clients/command/control-socket.ts'
import { commandsPage } from '../../../scripts/docs/commands-page.ts'
import { help } from '../../../src/clients/command/help-page.ts'
import { openCommandServices } from '../../../src/clients/command/open-command-services.ts'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
const config = loadConfig({
  env: { STERNA_DATA_DIR: join(directory.path, 'data'), STERNA_HOSTNAME: 'mail.example.net', STERNA_DNS_SERVERS: '127.0.0.1:1' },
})
let opened: Awaited<ReturnType<typeof openCommandServices>>
beforeAll(async () => {
  opened = await openCommandServices(config, silentLog)
})
afterAll(async () => {
  await opened.close()
  directory.remove()
})

const run = (...argv: string[]): Promise<CommandResult> => runCommand({ argv, cwd: directory.path }, opened.services)

/** What a command line that cannot be parsed leads to. */
function refusal(argv: string[]): CommandResult {
  try {
    parseCommand({ argv, cwd: '/' })
  } catch (error) {
    return failed(error, false)
  }
  throw new Error(`sterna ${argv.join(' ')} was taken`)
}

const named = commands.map((command) => ({ ...command, words: command.name.split(' ') }))
/** Words for all that a command needs. */
const neededWords = ({ args, choices, options }: (typeof named)[number]): string[] => [
  ...args.filter((name) => !name.startsWith('[')).map((name) => choices?.[name]?.[0] ?? 'x'),
  ...Object.entries(options).flatMap(([name, { required, choices: of }]) => (required ? [`--${name}`, of?.[0] ?? 'x'] : [])),
]

describe.each(named)('sterna $name', (command) => {
  const { words, args, options } = command

  test('has help of at most 100 columns, with each option', () => {
    const { command: asked, input } = parseCommand({ argv: [...words, '--help'], cwd: '/' })
    expect([asked.name, input.args]).toEqual(['help', words])
    const { stdout } = help(words)
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100)
    for (const option of [...Object.keys(ownOptions(command)), 'json', 'config', 'help']) expect(stdout).toContain(`--${option}`)
  })

  test('takes --json', () => {
    expect(parseCommand({ argv: [...words, ...neededWords(command), '--json'], cwd: '/' }).input.isJson).toBe(true)
  })

  const bad: [what: string, argv: string[], told: RegExp][] = [
    ['an unknown option', [...words, '--jsn'], /^sterna: There is no option "--jsn"; did you mean "--json"\?/],
    ['an option without its value', [...words, '--config'], /'--config <value>' argument missing/],
  ]
  if (!args.some((name) => name.includes('…'))) {
    bad.push(['an argument too many', [...words, ...args.map(() => 'x'), 'more'], /"more" is one argument too many/])
  }
  if (neededWords(command).length > 0) bad.push(['nothing that it needs', words, / is missing\./])
  for (const [name, { choices }] of Object.entries(options)) {
    if (choices) bad.push([`--${name} nonsense`, [...words, ...neededWords(command), `--${name}`, 'nonsense'], /It must be one of: /])
  }
  test.each(bad)('refuses %s in one line', (_, argv, told) => {
    const { stdout, stderr, exitCode } = refusal(argv)
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 2 })
    expect(stderr).toMatch(told)
    expect(stderr).toMatch(/^sterna: [^\n]+\n$/)
  })
})

test('the overview has every command in at most 100 columns, and so has docs/commands.md its usages', () => {
  const { stdout } = help([])
  for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100)
  for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^ {2}${name} {2,}\\S`, 'm'))
  for (const [, usage = ''] of commandsPage().matchAll(/```\n([^`]*)```/g)) {
    for (const line of usage.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100)
  }
})

test.each([
  [['acount', 'list'], /There is no command "acount"; did you mean "account"\?/],
  [['account', 'lst'], /There is no command "account lst"; did you mean "list"\? "sterna account" needs one of: create, list, /],
  [['account'], /"sterna account" needs one of: create, list, /],
])('sterna %j is asked what it means', (argv, told) => {
  expect(refusal(argv)).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(told) })
})

test('what only reads says so, so that it creates no data where there is none', () => {
  const reading = /^(?:doctor|backup|feedback (?:list|show)|\w+ (?:list|show|check|tail))$/
  const names = (wanted: boolean) => commands.filter(({ name, reads }) => (wanted ? reading.test(name) : reads)).map(({ name }) => name)
  expect(names(false)).toEqual(expect.arrayContaining(names(true)))
})

test('help on an unknown command says which one it may be', () => {
  expect(() => help(['domain', 'ad'])).toThrow('There is no command "domain ad"; did you mean "domain add"?')
})

/** Command lines that succeed one after the other, and the object that each prints as JSON. */
const life: [line: string, object: string][] = [
  ['account create shop', 'account'],
  ['account list', 'list'],
  ['apply set-up.yaml', 'applied'],
  ['config export', 'set_up'],
  ['account suspend shop', 'account'],
  ['account resume shop', 'account'],
  ['account plan shop starter', 'account'],
  ['account quota shop --day 1000 --month unlimited', 'mail_quota'],
  ['account notices shop on', 'account'],
  ['account suppression-policy shop --soft-bounces 5 --expiry 90d --complaints false', 'suppression_policy'],
  ['account retry-schedule shop --delays 1m,5m,1h', 'retry_schedule'],
  ['account recipient-tls shop --domains bank.example=verify,.partner.example=require', 'recipient_tls'],
  ['account urgent-mail shop --per-minute 600', 'urgent_mail'],
  ['account harm-limits shop --bounces-suspend 200', 'harm_limits'],
  ['key create --account shop', 'api_key'],
  ['key list --account shop', 'list'],
  ['key rotate {api_key}', 'api_key'],
  ['key revoke {api_key}', 'api_key'],
  ['user invite ann@example.com --account shop', 'user'],
  ['user invite bob@example.com --account shop --role owner --operator', 'user'],
  ['user reset ann@example.com', 'user'],
  ['user role ann@example.com viewer', 'user'],
  ['user list', 'list'],
  ['user remove ann@example.com', 'user'],
  ['domain add example.com --account shop', 'domain'],
  ['domain list', 'list'],
  ['domain show example.com', 'domain'],
  ['domain verify example.com --manual', 'domain'],
  ['smarthost add backup --host smtp.relay.example', 'smarthost'],
  ['smarthost list', 'list'],
  ['smarthost change backup --port 2525', 'smarthost'],
  ['route add --via backup --account shop', 'route'],
  ['route list', 'list'],
  ['route explain app@example.com ann@simulator.test', 'route_explanation'],
  ['route change {route} --via direct', 'route'],
  ['route remove {route}', 'route'],
  ['smarthost remove backup', 'smarthost'],
  ['domain rotate example.com', 'domain'],
  ['domain remove example.com', 'domain'],
  ['webhook add https://example.com/hook --account shop', 'webhook'],
  ['webhook list --account shop', 'list'],
  ['webhook disable {webhook}', 'webhook'],
  ['webhook enable {webhook}', 'webhook'],
  ['webhook remove {webhook}', 'webhook'],
  ['suppression add ann@example.com bob@example.com --account shop --reason asked', 'list'],
  ['suppression list --account shop --limit 1', 'list'],
  ['suppression check ann@example.com --account shop', 'suppression_check'],
  ['suppression remove ann@example.com --account shop', 'suppression'],
  ['message list --account shop --status delivered --tag news --since 2026-01-01', 'list'],
  ['template push welcome.html --account shop', 'list'],
  ['template pull --account shop --directory pulled', 'template_files'],
  ['queue list', 'list'],
  ['node list', 'list'],
  ['shaping', 'list'],
  ['import suppressions list.csv --account shop --from postmark', 'suppression_import'],
  ['feedback list', 'list'],
  ['tls-reports list', 'list'],
  ['explain ann@simulator.test', 'explanation'],
  ['erase ann@example.com', 'erasure'],
  ['backup copy.db', 'backup'],
  ['rotate secret-key', 'secret_key_rotation'],
  ['account export shop exported', 'account_export'],
  ['account delete shop', 'account'],
]
/** These need what only a running server has, or are run by main.ts; other tests run them. */
const elsewhere = [
  'serve',
  'health',
  'doctor',
  'restore',
  'store copy',
  'store reopen',
  'compact',
  'upgrade',
  'queue show',
  'queue retry',
  'queue hold',
  'queue release',
  'queue cancel',
  'feedback show',
  'tls-reports show',
  'tls-reports send',
  'mta-sts show',
  'mta-sts refresh',
  'smarthost show',
  'smarthost authorize',
  'smarthost connect',
  'smarthost retry',
  'message show',
  'message tail',
  'send-test',
  'webhook test',
  'log level',
]
const runByMain = [
  'key generate',
  'backup list',
  'backup identity',
  'feedback parse',
  'reply explain',
  'tracking rewrite',
  'tracking judge',
  'bench',
  'version',
  'help',
]

test('every command prints its result as JSON, and nothing else', async () => {
  writeFileSync(join(directory.path, 'welcome.html'), '<title>Hello</title><p>Hello</p>')
  writeFileSync(
    join(directory.path, 'list.csv'),
    'EmailAddress,SuppressionReason,Origin,CreatedAt\nann@example.com,HardBounce,Recipient,2026-01-01\n',
  )
  writeFileSync(join(directory.path, 'set-up.yaml'), 'accounts: [{name: shop, plan: starter}]')
  const ids: Record<string, string> = {}
  const ran = new Set<string>([...elsewhere, ...runByMain])
  for (const [line, object] of life) {
    const { stdout, stderr, exitCode } = await run(...line.replace(/\{(\w+)\}/, (_, name: string) => ids[name] ?? '').split(' '), '--json')
    expect({ line, stderr, exitCode }).toEqual({ line, stderr: '', exitCode: 0 })
    const result = JSON.parse(stdout) as { object: string; id?: string }
    expect({ line, object: result.object }).toEqual({ line, object })
    ids[object] = result.id ?? ''
    ran.add(/^(?:erase|backup|apply|explain)\b/.test(line) ? (line.split(' ')[0] ?? '') : line.split(' ', 2).join(' '))
  }
  expect([...ran].toSorted()).toEqual(commands.map(({ name }) => name).toSorted())
})

test('every operation is a command, but those of browsers, of services that report, and downloads', () => {
  const carried = operationCommands()
  const without = [...declaredOperations().values()].filter((declared) => !isCommand(declared)).map(({ id }) => id)
  expect(without.filter((id) => !/^(?:session|setup|invite|reset|unsubscribe|smarthost_reports)\./.test(id))).toEqual([
    'emails.download_attachment',
    'emails.download_source',
    'previews.get',
    'feedback.download',
  ])
  expect(carried).toHaveLength(declaredOperations().size - without.length)
  for (const { name, options } of carried) {
    expect({ name, shared: Object.keys(options).filter((option) => option in commonOptions) }).toEqual({ name, shared: [] })
    expect(help(name.split(' ')).stdout).toContain(`sterna ${name}`)
  }
  expect(help(['api']).stdout.trimEnd().split('\n').length).toBeGreaterThan(carried.length)
})

test('an operation answers as JSON, and is refused in the words of its options', async () => {
  const api = (...argv: string[]) => run('api', ...argv)
  const { stdout } = await api('accounts.create', '--name', 'api')
  const { id } = JSON.parse(stdout) as { id: string }
  const made = await api('webhooks.create', '--account', 'api', '--url', 'https://example.com/', '--events', 'email.sent,email.bounced')
  const webhook = JSON.parse(made.stdout) as { id: string; events: string[]; signing_secret: string }
  expect(webhook).toMatchObject({ events: ['email.sent', 'email.bounced'], include_bots: false })
  await api('webhooks.update', webhook.id, '--account', 'api', '--include-bots', '--body', '{"description":null}')
  expect(JSON.parse((await api('webhooks.get', webhook.id, '--account', 'api')).stdout)).toMatchObject({ include_bots: true })
  await api('webhooks.update', webhook.id, '--account', 'api', '--no-include-bots')
  expect(JSON.parse((await api('webhooks.list', '--account', 'api')).stdout)).toMatchObject({ data: [{ include_bots: false }] })
  expect(await api('webhooks.create', '--account', 'api')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^sterna: --url is missing/),
  })
  expect(await api('webhooks.list', '--account', 'api', '--limit', '1000')).toMatchObject({
    exitCode: 2,
    stderr: 'sterna: --limit must be a whole number from 1 to 100.\n',
  })
  expect(await api('webhooks.test', webhook.id, '--account', 'api')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('No server runs'),
  })
  expect(await api('webhooks.get', webhook.id, '--account', 'api', '--sandbox')).toMatchObject({ exitCode: 1 })
  const { data } = JSON.parse((await api('audit.list', '--account', 'api', '--account-id', id)).stdout) as { data: object[] }
  expect(data.at(-1)).toMatchObject({ action: 'webhooks.create', actor: { type: 'command' }, account_id: id, fields: ['url', 'events'] })
})

test('errors are JSON too', async () => {
  const { stdout, stderr, exitCode } = await run('account', 'suspend', 'nobody', '--json')
  expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 })
  expect(JSON.parse(stderr)).toEqual({ object: 'error', statusCode: 404, name: 'not_found', message: expect.stringContaining('nobody') })
  expect(JSON.parse((await run('account', 'suspend', '--json')).stderr)).toMatchObject({ object: 'error', name: 'invalid_parameter' })
})

describe('what destroys something', () => {
  const asking = commands.filter(({ asks }) => asks).map(({ name }) => name)
  const parsed = (...more: string[]) => parseCommand({ argv: ['account', 'delete', 'shop', ...more], cwd: '/' })
  const terminal = (answer: string) => {
    const asked: string[] = []
    return { asked, isInteractive: true, ask: async (question: string) => (asked.push(question), answer) }
  }

  test('is this', () => {
    expect(asking).toEqual([
      'apply',
      'store reopen',
      'account delete',
      'key revoke',
      'user remove',
      'domain remove',
      'webhook remove',
      'queue cancel',
      'smarthost remove',
      'suppression remove',
      'erase',
    ])
  })

  test('asks on a terminal, and anything but yes is no', async () => {
    for (const yes of ['y', 'Y', 'yes ', 'YES']) {
      const one = terminal(yes)
      await confirm(parsed(), one)
      expect(one.asked).toEqual(['Delete the account shop with its keys, users, webhooks, domains, templates and suppressions? [y/N] '])
    }
    for (const no of ['', 'n', 'shop', 'yesterday']) await expect(confirm(parsed(), terminal(no))).rejects.toThrow('nothing was changed')
  })

  test('does not ask with --yes, and a command that destroys nothing never asks', async () => {
    const one = terminal('n')
    await confirm(parsed('--yes'), one)
    await confirm(parseCommand({ argv: ['account', 'list'], cwd: '/' }), one)
    expect(one.asked).toEqual([])
    expect(refusal(['account', 'list', '--yes']).stderr).toContain('There is no option "--yes"')
  })

  test('is refused where nobody can be asked', async () => {
    const nobody = { isInteractive: false, ask: async () => 'y' }
    await expect(confirm(parsed(), nobody)).rejects.toThrow('Add --yes if you mean it.')
    await confirm(parsed('--yes'), nobody)
  })
})

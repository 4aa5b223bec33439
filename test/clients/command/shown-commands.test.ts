import { describe, expect, test } from 'vitest'
import { commands } from '../../../src/clients/command/command-list.ts'
import {
  commandPrefix,
  configFileIn,
  showCommands,
  showCommandsInLine,
  startWords,
  type Started,
} from '../../../src/clients/command/shown-commands.ts'

const typed: Started = {
  env: {},
  cwd: '/home/ann/sterna',
  configFile: undefined,
  program: ['/usr/bin/node', '/home/ann/sterna/bin/sterna.js'],
  checkout: '/home/ann/sterna/',
  user: 'ann',
  isService: false,
}
const binary: Partial<Started> = { program: ['/usr/local/bin/sterna'], checkout: null, cwd: '/var/lib/sterna', user: 'sterna' }
const compose = { STERNA_COMMAND: 'docker compose exec sterna sterna', STERNA_DATA_DIR: '/data' }

const installations: [what: string, started: Partial<Started>, prefix: string, start: string | null][] = [
  ['npm start', {}, 'npx sterna', 'npm start'],
  ['npm start in a folder of the checkout', { cwd: '/home/ann/sterna/docs' }, 'npx sterna', 'npm start'],
  [
    'npm start with data elsewhere',
    { env: { STERNA_DATA_DIR: '../mail' } },
    'STERNA_DATA_DIR=/home/ann/mail npx sterna',
    'STERNA_DATA_DIR=/home/ann/mail npm start',
  ],
  [
    'a checkout, from elsewhere',
    { cwd: '/home/ann/data' },
    '/usr/bin/node /home/ann/sterna/bin/sterna.js',
    '/usr/bin/node /home/ann/sterna/bin/sterna.js serve',
  ],
  ['npm start with --config', { configFile: 'my sterna.yml' }, "'STERNA_CONFIG=/home/ann/sterna/my sterna.yml' npx sterna", null],
  ['a binary in this directory', { ...binary, program: ['./sterna-linux-x64'] }, './sterna-linux-x64', './sterna-linux-x64 serve'],
  [
    'systemd',
    { ...binary, isService: true, env: { STERNA_CONFIG: '/etc/sterna/sterna.yml' } },
    'sudo -u sterna STERNA_CONFIG=/etc/sterna/sterna.yml /usr/local/bin/sterna',
    null,
  ],
  [
    'systemd, in a checkout',
    { isService: true, env: { STERNA_CONFIG: '/etc/sterna/sterna.yml' } },
    'sudo -u ann STERNA_CONFIG=/etc/sterna/sterna.yml /usr/bin/node /home/ann/sterna/bin/sterna.js',
    null,
  ],
  [
    'the alias of docs/install.md',
    { ...binary, cwd: '/root', env: { SUDO_USER: 'ann', STERNA_CONFIG: '/etc/sterna/sterna.yml' } },
    'sudo -u sterna STERNA_CONFIG=/etc/sterna/sterna.yml /usr/local/bin/sterna',
    null,
  ],
  [
    'a user without a name',
    { ...binary, user: '#1234', env: { SUDO_USER: 'ann' } },
    "sudo -u '#1234' /usr/local/bin/sterna",
    '/usr/local/bin/sterna serve',
  ],
  ['compose', { ...binary, cwd: '/data', env: compose }, 'docker compose exec sterna sterna', null],
]

test.each(installations)('with %s, commands are written so that they work where they are read', (_, started, prefix, start) => {
  expect([commandPrefix({ ...typed, ...started }), startWords({ ...typed, ...started })]).toEqual([prefix, start])
})

test('a service whose configuration does not say where its data is says so', () => {
  const service: Started = { ...typed, ...binary, isService: true }
  expect(commandPrefix(service, '/var/lib/sterna/data')).toBe('sudo -u sterna STERNA_DATA_DIR=/var/lib/sterna/data /usr/local/bin/sterna')
  expect(commandPrefix({ ...service, isService: false }, '/var/lib/sterna/data')).toBe('/usr/local/bin/sterna')
})

describe('in a text', () => {
  test.each(commands.map(({ name }) => name))('sterna %s is written as it works here', (name) => {
    expect(showCommands(`Run "sterna ${name}".`, 'npx sterna')).toBe(`Run "npx sterna ${name}".`)
  })

  test('paths, files and other words stay as they are', () => {
    const text = 'The unit sterna.service runs /usr/local/bin/sterna serve; a sterna is a tern. Not "sterna fly", not my-sterna queue list.'
    expect(showCommands(text, 'npx sterna')).toBe(text)
  })

  test.each([
    ['docker compose exec sterna sterna', 'docker compose run --rm sterna'],
    ['docker compose -f compose.caddy.yaml exec mail sterna', 'docker compose -f compose.caddy.yaml run --rm mail'],
    ['podman-compose exec sterna sterna', 'podman-compose run --rm sterna'],
    ['kubectl exec deploy/sterna -- sterna', 'kubectl exec deploy/sterna -- sterna'],
  ])('what needs a stopped server is not run in its container: %s', (running, stopped) => {
    const text = 'Run sterna backup FILE --with-key now, stop the server, and run sterna restore FILE --force.'
    expect(showCommands(text, running)).toBe(
      `Run ${running} backup FILE --with-key now, stop the server, and run ${stopped} restore FILE --force.`,
    )
  })
})

test.each([
  [['queue', 'list', '--config', 'a.yml'], 'a.yml'],
  [['queue', 'list', '--config=a.yml', '--jsn'], 'a.yml'],
  [['queue', 'list', '--config'], undefined],
  [['queue', 'list'], undefined],
])('--config in %j, which may be no command line', (argv, file) => {
  expect(configFileIn(argv)).toBe(file)
})

test('in a log line only our own words are changed', () => {
  const reply = { reply: '550 run sterna erase ann@example.com --yes', error: { message: 'sterna restore' } }
  const line = (message: string): string => `${JSON.stringify({ level: 'info', ...reply, message })}\n`
  expect(showCommandsInLine(line('run sterna doctor'), 'sudo "x" sterna')).toBe(line('run sudo "x" sterna doctor'))
  expect(showCommandsInLine(line('mail bounced'), 'npx sterna')).toBe(line('mail bounced'))
})

import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'

/** The services behind the operations of the API. Commands and set-up files are clients of the operations. */
const services = ['accounts', 'apiKeys', 'audit', 'erasures', 'people', 'policies', 'queueAdmin', 'sendingDomains', 'templates', 'webhooks']
const classes = ['EventFeed', 'MessageReader', 'ReturnedMailList', 'SuppressionEntries']

/** Finds the account or object that a command line names. Operations know only ids, and only those of their account. */
const lookUps = [
  'accounts.accountFor',
  'accounts.findAccount',
  'accounts.getAccount',
  'apiKeys.get',
  'people.users.get',
  'sendingDomains.find',
  'sendingDomains.get',
  'webhooks.findWebhook',
]

/** What else a file may use, and why no operation does the same. */
const allowed: Record<string, [uses: string[], why: string]> = {
  'carry-out.ts': [
    ['apiKeys.adopt', 'apiKeys.change', 'apiKeys.rotateTo', 'audit.record', 'webhooks.create', 'webhooks.rotateSecret'],
    'The API takes no token and no secret that is made elsewhere, and changes nothing of a key but its name. A change is one entry of the audit log.',
  ],
  'command-line.ts': [['audit.record'], 'Records the commands that are no operations.'],
  'config-commands.ts': [['apiKeys.storedTokenOf', 'sendingDomains.privateKey'], 'No operation shows what a file needs of a secret.'],
  'domain-commands.ts': [
    ['sendingDomains.list', 'sendingDomains.records', 'sendingDomains.verify', 'sendingDomains.verifyManually'],
    'The list has the domains of every account and of the server; a check is waited for, or left out.',
  ],
  'erase-command.ts': [['erasures.begin', 'erasures.find', 'erasures.finished'], 'It waits until everything is erased.'],
  'export-account.ts': [
    [
      'MessageReader',
      'ReturnedMailList',
      'SuppressionEntries',
      'apiKeys.list',
      'audit.page',
      'erasures.page',
      'people.users.list',
      'sendingDomains.list',
      'templates.get',
      'templates.page',
      'templates.versions.get',
      'templates.versions.list',
      'webhooks.map',
      'webhooks.page',
    ],
    'Reads whole tables as they are, and writes them as they come.',
  ],
  'message-commands.ts': [['EventFeed', 'MessageReader'], 'An email is found by its id alone; a tail begins now and has no end.'],
  'open-command-services.ts': [['webhooks.load'], 'Opens what operations work on.'],
  'queue-commands.ts': [
    [
      'queueAdmin.cancelRestored',
      'queueAdmin.hold',
      'queueAdmin.list',
      'queueAdmin.release',
      'queueAdmin.releaseRestored',
      'queueAdmin.retry',
      'queueAdmin.show',
    ],
    'They take a message or a recipient too, where the operations take a domain; the list has no pages.',
  ],
  'restore.ts': [['accounts.list', 'sendingDomains.list', 'sendingDomains.privateKey'], 'Checks a database that no server has opened yet.'],
  'send-test-command.ts': [['MessageReader', 'sendingDomains.list'], 'It watches the mail that it sends.'],
  'current-state.ts': [
    [
      'accounts.list',
      'apiKeys.list',
      'apiKeys.storedTokenOf',
      'policies.of',
      'policies.ownOf',
      'sendingDomains.list',
      'templates.get',
      'templates.page',
      'webhooks.page',
    ],
    'Reads everything that every account has. It compares secrets, which no operation shows, and policies as a file writes them.',
  ],
  'welcome.ts': [
    ['accounts.create', 'accounts.list', 'apiKeys.create', 'people.setupLink.renew', 'people.setupLink.withdraw'],
    'Nobody makes the first account and key.',
  ],
}

/** What the code calls, without comments and texts. */
function usesIn(path: string): string[] {
  const code = readFileSync(path, 'utf8')
    .replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''")
  const calls = code.matchAll(new RegExp(`\\b((?:${services.join('|')})(?:\\.\\w+)+)\\(`, 'g'))
  const made = code.matchAll(new RegExp(`\\bnew (${classes.join('|')})\\(`, 'g'))
  return [...new Set([...calls, ...made].map(([, name = '']) => name))].filter((name) => !lookUps.includes(name)).toSorted()
}

test('no command or set-up calls a service where an operation does the same', () => {
  const found = globSync(['src/clients/command/*.ts', 'src/clients/set-up/*.ts']).flatMap((path) => {
    const uses = usesIn(path)
    return uses.length === 0 ? [] : [[basename(path), uses]]
  })
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(Object.entries(allowed).map(([file, [uses]]) => [file, uses])))
})

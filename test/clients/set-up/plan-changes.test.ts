import { describe, expect, test } from 'vitest'
import { storedToken } from '../../../src/senders/account/api-key-token.ts'
import { Secret } from '../../../src/platform/config/setting-types.ts'
import { readYaml } from '../../../src/platform/config/yaml-tree.ts'
import { messageOf } from '../../../src/platform/errors.ts'
import { planChanges } from '../../../src/clients/set-up/plan-changes.ts'
import { changeLine } from '../../../src/clients/set-up/plan-text.ts'
import { readSetUp } from '../../../src/clients/set-up/read-set-up.ts'
import { followReferences } from '../../../src/clients/set-up/reference.ts'
import { nameOf } from '../../../src/clients/set-up/set-up-fields.ts'
import type { ObjectKind, CurrentObject, Values } from '../../../src/clients/set-up/set-up-object.ts'

const token = 'sterna_live_Gbk29aLzD3Z36UDCtYUkhCALzsBU5VP3AZhhS2KlFKN0zA0Vg'
const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const otherSecret = `whsec_${Buffer.alloc(32, 2).toString('base64')}`

const wantedIn = (yaml: string) => {
  const faults: string[] = []
  const tree = readYaml(yaml, (line, message) => faults.push(`f:${line}: ${message}`))
  if (faults.length > 0) throw new Error(faults.join('\n'))
  const env = { KEY: token, SECRET: secret, OTHER: otherSecret, EMPTY: '' }
  return readSetUp(tree, { file: 'f', texts: tree === null ? {} : followReferences(tree, { env, directory: '/nowhere' }) })
}

const current = (kind: ObjectKind, values: Values, account = 'shop'): CurrentObject => ({
  kind,
  account: kind === 'account' ? String(values['name']) : account,
  name: nameOf(kind, values),
  id: 'id',
  values,
})

const noPolicy = { hard_bounces: null, complaints: null, soft_bounces: null, expiry: null }
const shop = current('account', {
  name: 'shop',
  plan: 'free',
  status: 'active',
  delivery_notices: false,
  ...Object.fromEntries(Object.entries(noPolicy).map(([name, value]) => [`suppression_policy.${name}`, value])),
})
const domain = current('domain', {
  name: 'shop.example',
  custom_return_path: 'send',
  tls: 'opportunistic',
  dkim_selector: ['s1', 's1-ed25519'],
  dkim_private_key: ['p'],
})
const frame = current('template', {
  alias: 'frame',
  name: 'frame',
  html: '<b>{{{@content}}}</b>',
  text: null,
  layout: null,
  published: true,
})
const welcome = current('template', { alias: 'welcome', name: 'welcome', html: 'Hi', text: null, layout: 'frame', published: true })
const hook = current('webhook', { url: 'https://a.example/', sandbox: false, events: ['email.sent'], secret: new Secret(secret) })
const key = current('key', { name: 'web', permission: 'full_access', domain: null, sandbox: false, token: storedToken(token).digest })
const all = [shop, domain, frame, welcome, hook, key]

const cases: [what: string, yaml: string, current: CurrentObject[], lines: string[], prune?: boolean][] = [
  ['an empty file', '', all, []],
  ['a file that names what stands', 'accounts: [{name: shop, plan: free}]', all, []],
  ['a new account', 'accounts: [{name: blog, plan: free}]', all, ['create  account blog: plan free']],
  ['another plan', 'accounts: [{name: shop, plan: starter}]', all, ['change  account shop: plan free → starter']],
  [
    'a duration',
    'accounts: [{name: shop, suppression_policy: {expiry: 90d}}]',
    all,
    ['change  account shop: suppression_policy.expiry none → 90d'],
  ],
  ['a name with a dot', 'accounts: [{name: shop, suppression_policy.expiry: none}]', all, []],
  [
    'a section that is none',
    'accounts: [{name: shop, suppression_policy: none}]',
    [{ ...shop, values: { ...shop.values, 'suppression_policy.expiry': 1000 } }],
    ['change  account shop: suppression_policy.expiry 1s → none'],
  ],
  [
    'a domain in other letters',
    'accounts: [{name: shop, domains: [{name: Shop.Example., tls: enforced}]}]',
    all,
    ['change  domain shop.example of shop: tls opportunistic → enforced'],
  ],
  ['one of the selectors in use', 'accounts: [{name: shop, domains: [{name: shop.example, dkim_selector: s1}]}]', all, []],
  [
    'a new selector',
    'accounts: [{name: shop, domains: [{name: shop.example, dkim_selector: s2}]}]',
    all,
    ['change  domain shop.example of shop: dkim_selector s1,s1-ed25519 → s2'],
  ],
  [
    'the same secret and token',
    'accounts: [{name: shop, webhooks: [{url: "https://a.example/", secret: {env: SECRET}}], keys: [{name: web, token: {env: KEY}}]}]',
    all,
    [],
  ],
  [
    'another secret, which is not shown',
    'accounts: [{name: shop, webhooks: [{url: "https://a.example/", secret: {env: OTHER}}]}]',
    all,
    ['change  webhook https://a.example/ of shop: secret replaced'],
  ],
  [
    'the hash of another token',
    `accounts: [{name: shop, keys: [{name: web, token: {sha256: ${'0a'.repeat(32)}, prefix: sterna_live_000000}}]}]`,
    all,
    ['change  key web of shop: token replaced'],
  ],
  [
    'a webhook for the sandbox beside the live one',
    'accounts: [{name: shop, webhooks: [{url: "https://a.example/", sandbox: true}]}]',
    all,
    ['create  webhook https://a.example/ (sandbox) of shop: sandbox true'],
  ],
  [
    'what a key may do',
    'accounts: [{name: shop, keys: [{name: web, permission: sending_access, domain: shop.example}]}]',
    all,
    ['change  key web of shop: permission full_access → sending_access, domain none → shop.example'],
  ],
  [
    'a layout, and so what uses it',
    'accounts: [{name: shop, templates: [{alias: welcome}, {alias: frame, html: "<i>{{{@content}}}</i>"}]}]',
    all,
    [
      'change  template frame of shop: html (21 characters) → (21 characters)',
      'change  template welcome of shop: published outdated → true',
    ],
  ],
  [
    'a draft that stays one',
    'accounts: [{name: shop, templates: [{alias: frame, published: false}]}]',
    [shop, { ...frame, values: { ...frame.values, published: false } }],
    [],
  ],
  [
    'a draft that is to be sent',
    'accounts: [{name: shop, templates: [{alias: frame}]}]',
    [shop, { ...frame, values: { ...frame.values, published: false } }],
    ['change  template frame of shop: published false → true'],
  ],
  ['a section without prune', 'accounts: [{name: shop, keys: []}]', all, []],
  ['a section with prune', 'accounts: [{name: shop, keys: [], domains: [{name: shop.example}]}]', all, ['remove  key web of shop'], true],
  ['an absent section with prune', 'accounts: [{name: shop}]', all, [], true],
  [
    'another account with prune',
    'accounts: [{name: blog}]',
    all,
    ['create  account blog', 'remove  account shop, with its keys, users, webhooks, domains, templates and suppressions'],
    true,
  ],
  ['an anchor', 'accounts: [{name: &a shop, keys: [{name: *a}]}]', all, ['create  key shop of shop']],
]

describe('what changes for', () => {
  test.each(cases)('%s', (_, yaml, objects, lines, prune = false) => {
    const { changes, faults } = planChanges(wantedIn(yaml), objects, { prune })
    expect(faults).toEqual([])
    expect(changes.map(changeLine)).toEqual(lines)
  })
})

test('accounts come before what they have, layouts before templates, and removals last and inside out', () => {
  const yaml = `
accounts:
  - name: new
    keys: [{name: k, domain: d.example}]
    templates: [{alias: t, html: x, layout: l}, {alias: l, html: y}]
    domains: [{name: d.example}]
  - {name: shop, keys: [], domains: []}
`
  const { changes } = planChanges(wantedIn(yaml), all, { prune: true })
  expect(changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`)).toEqual([
    'create account new',
    'create domain d.example',
    'create template l',
    'create template t',
    'create key k',
    'remove key web',
    'remove domain shop.example',
  ])
})

const faulty: [what: string, yaml: string, told: RegExp][] = [
  ['an unknown key', 'acounts: []', /^ {2}f:1: the file has no acounts; did you mean accounts\?$/m],
  ['an unknown field', 'accounts:\n  - name: shop\n    plann: free', /^ {2}f:3: a account has no plann; did you mean plan\?$/m],
  ['a field that is given twice', 'accounts:\n  - name: shop\n    name: blog', /^f:3: Map keys must be unique\.$/m],
  [
    'a field in both forms',
    'accounts:\n  - name: shop\n    suppression_policy.expiry: 1d\n    suppression_policy: {expiry: 2d}',
    /f:4: suppression_policy\.expiry is given already/,
  ],
  ['no name', 'accounts:\n  - plan: free', /f:2: name is missing, which says which account this is\./],
  ['a wrong type', 'accounts:\n  - name: shop\n    delivery_notices: 3', /f:3: delivery_notices: must be a boolean, not a number\./],
  ['a map instead of a list', 'accounts: {name: shop}', /f:1: this is not a list\. Write one "- name: …" for each\./],
  ['a value instead of a map', 'accounts: [shop]', /f:1: this is not a map of the fields of a account\./],
  ['an account twice', 'accounts:\n  - name: shop\n  - name: shop', /f:3: account shop is given already at f:2\./],
  [
    'a secret in the file',
    `accounts: [{name: shop, webhooks: [{url: x, secret: ${secret}}]}]`,
    /secret: a secret does not belong in this file\./,
  ],
  ['an unset variable', 'accounts: [{name: shop, webhooks: [{url: x, secret: {env: NONE}}]}]', /secret: the variable NONE is not set\./],
  [
    'an absent file',
    'accounts: [{name: shop, templates: [{alias: x, html: {file: x.html}}]}]',
    /html: \/nowhere\/x\.html cannot be read \(there is no such file or directory \(ENOENT\)\)/,
  ],
  [
    'what is no key',
    'accounts: [{name: shop, keys: [{name: x, token: {env: SECRET}}]}]',
    /token: what it refers to is not an API key of Sterna/,
  ],
  [
    'a live key for the sandbox',
    'accounts: [{name: shop, keys: [{name: x, sandbox: true, token: {env: KEY}}]}]',
    /token: a sandbox key begins with sterna_test_/,
  ],
  ['an unknown event', 'accounts: [{name: shop, webhooks: [{url: x, events: [email.sennt]}]}]', /events\.0: must be one of email\.sent, /],
  [
    'an unknown member of a variable',
    'accounts: [{name: shop, templates: [{alias: x, variables: [{kye: x}]}]}]',
    /There is no field `variables\.0\.kye`/,
  ],
  ['an anchor within itself', 'accounts: &a [{name: shop, keys: *a}]', /./],
]

describe('refused with its line is', () => {
  test.each(faulty)('%s', (_, yaml, told) => {
    let message = ''
    try {
      wantedIn(yaml)
    } catch (error) {
      message = messageOf(error)
    }
    expect(message).toMatch(told)
    expect(message).not.toContain(secret)
    expect(message).not.toContain(token)
  })
})

test.each([
  [
    'a return path that cannot change',
    'accounts: [{name: shop, domains: [{name: shop.example, custom_return_path: mail}]}]',
    /custom_return_path .* is send and cannot change/,
  ],
  [
    'a key that changes its mode',
    'accounts: [{name: shop, keys: [{name: web, sandbox: true}]}]',
    /sandbox of key web of shop is false and cannot change/,
  ],
  ['a new template without content', 'accounts: [{name: shop, templates: [{alias: x}]}]', /html is missing/],
])('a plan refuses %s', (_, yaml, told) => {
  expect(planChanges(wantedIn(yaml), all, { prune: false }).faults).toEqual([expect.stringMatching(told)])
})

test('two of one name cannot be told apart', () => {
  const wanted = wantedIn('accounts: [{name: shop, keys: [{name: web}]}]')
  expect(planChanges(wanted, [...all, { ...key, id: 'other' }], { prune: false }).faults).toEqual([
    expect.stringMatching(/several of key web of shop/),
  ])
})

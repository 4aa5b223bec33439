import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { newToken } from '../../src/senders/account/api-key-token.ts'
import { startTestRelay } from '../support/start-relay.ts'

const [key, laterKey] = [newToken(false), newToken(false)]

/** The first state of every kind of object, and another one. */
const [before, after] = [
  `
accounts:
  - name: shop
    plan: starter
    suppression_policy: {soft_bounces: 5, expiry: 90d}
    retry_schedule: {delays: [1m, 5m]}
    recipient_tls: {domains: [bank.example=verify, .partner.example=require]}
    delivery_notices: true
    quota: {day: 500}
    domains:
      - {name: shop.example, click_tracking: true, quota: {day: 200}}
    templates:
      - {alias: welcome, html: <p>Hello</p>, published: false}
    webhooks:
      - {url: "https://app.shop.example/hooks", sandbox: true, include_bots: true, events: [email.bounced]}
    keys:
      - {name: web, domain: shop.example, token: {env: KEY}, expires_at: 2099-01-01T00:00:00Z}
      - {name: tests, sandbox: true, expires_at: 2099-01-01T00:00:00Z}
`,
  `
accounts:
  - name: shop
    status: suspended
    suppression_policy: {soft_bounces: none, expiry: 1h}
    retry_schedule: {delays: none}
    recipient_tls: {domains: none}
    delivery_notices: false
    quota: {day: none, month: unlimited}
    domains:
      - {name: shop.example, click_tracking: false, tls: enforced, quota: {day: none}}
    templates:
      - {alias: welcome, html: <p>Good day</p>, subject: Welcome}
    webhooks:
      - {url: "https://app.shop.example/hooks", sandbox: true, include_bots: false, events: [email.sent], description: For tests}
    keys:
      - {name: web, domain: none, permission: read_access, token: {env: KEY}, expires_at: none}
`,
]

test('every kind of object is made, changed and removed as the file says, and then nothing is left to change', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const apply = async (text: string, token: string, ...more: string[]) => {
    writeFileSync(join(relay.dataDir, 'set-up.yaml'), text.replaceAll('{env: KEY}', '{file: web.key}'))
    writeFileSync(join(relay.dataDir, 'web.key'), token)
    return runCommand({ argv: ['apply', 'set-up.yaml', ...more], cwd: relay.dataDir }, relay.relay.services)
  }
  const made = await apply(before, key)
  expect(made).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('expires_at 2099-01-01T00:00:00.000Z') })
  expect(await apply(before, key, '--dry-run')).toMatchObject({ exitCode: 0, stdout: 'Nothing to change.\n' })

  const changed = await apply(after, laterKey)
  expect(changed).toMatchObject({ exitCode: 0, stderr: '' })
  for (const line of [
    /^change {2}account shop: status active → suspended, .*suppression_policy.soft_bounces 5 → none, .*expiry 90d → 1h, .*delays 1m,5m → none/m,
    /^change {2}domain shop.example of shop: .*tls opportunistic → enforced/m,
    /^change {2}webhook https:\/\/app.shop.example\/hooks \(sandbox\) of shop: .*include_bots true → false/m,
    /^change {2}key web of shop: .*permission sending_access → read_access, .*expires_at 2099-01-01T00:00:00.000Z → none/m,
  ])
    expect(changed.stdout).toMatch(line)
  expect(await apply(after, laterKey, '--dry-run')).toMatchObject({ exitCode: 0, stdout: 'Nothing to change.\n' })

  expect(await apply('accounts: [{name: shop, keys: [], templates: [], webhooks: [], domains: []}]', key, '--prune')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/remove {2}key tests of shop\n[^]*remove {2}domain shop.example of shop\n/),
  })
})

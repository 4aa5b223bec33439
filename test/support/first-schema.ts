import { generateKeyPairSync } from 'node:crypto'
import { newToken, storedToken } from '../../src/senders/account/api-key-token.ts'
import { openKeyFile } from '../../src/senders/account/key-file.ts'
import { newId } from '../../src/platform/id.ts'
import { migrations } from '../../src/platform/store/schema-steps.ts'
import { migrate } from '../../src/platform/store/sqlite/migrate.ts'
import { openWriter, type Connection } from '../../src/platform/store/sqlite/sqlite-connection.ts'

/** What a database of the first schema holds. */
export interface FirstData {
  accountId: string
  /** Keys with full access and for operators. */
  token: string
  operatorToken: string
  /** Emails: one that waits for its first attempt, one that waits for another, one that was delivered. */
  fresh: string
  deferred: string
  delivered: string
  webhookSecret: string
}

/** To make them takes longer than the rest. */
const makeKeyPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
let keyPair: ReturnType<typeof makeKeyPair> | undefined

const minute = 60_000
const hour = 60 * minute

/**
 * Makes the database that the first schema had after a while of use, brings it to the schema `version`, and leaves it in the directory.
 * @param keyFile created if there is none
 * @param now epoch, ms
 */
export function makeFirstData(directory: string, { keyFile, version, now }: { keyFile: string; version: number; now: number }): FirstData {
  const connection = openWriter(directory)
  try {
    migrate(connection, upTo(1))
    const data = fill(connection, { keyFile, now })
    migrate(connection, upTo(version))
    return data
  } finally {
    connection.close()
  }
}

export const upTo = (newest: number) => migrations().filter(({ version }) => version <= newest)

function fill(connection: Connection, { keyFile, now }: { keyFile: string; now: number }): FirstData {
  const insert = (table: string, row: Record<string, unknown>): void => {
    const names = Object.keys(row)
    connection.prepare(`insert into ${table} (${names.join(', ')}) values (${names.map((name) => `:${name}`).join(', ')})`).run(row)
  }
  const secrets = openKeyFile(keyFile)
  const at = now - 2 * hour
  const accountId = newId('acc', at)
  insert('account', { id: accountId, name: 'first', plan: 'pro', status: 'active', created_at: at })
  const key = (permission: string): string => {
    const token = newToken(false)
    const names = { account_id: accountId, name: permission, permission, ...storedToken(token) }
    insert('api_key', { id: newId('key', at), ...names, sandbox: 0, created_at: at })
    return token
  }

  const domainId = newId('dom', at)
  insert('domain', {
    id: domainId,
    account_id: accountId,
    name: 'old.example',
    status: 'verified',
    return_path_label: 'send',
    return_path_seen: 1,
    tls: 'opportunistic',
    verified_at: at,
    created_at: at,
  })
  insert('domain_record', { domain_id: domainId, kind: 'dkim-rsa', status: 'verified', found: 'v=DKIM1; p=…', checked_at: at })
  const dkimId = newId('dk', at)
  const pair = (keyPair ??= makeKeyPair())
  insert('dkim_key', {
    id: dkimId,
    domain_id: domainId,
    selector: 'first',
    algorithm: 'rsa-sha256',
    public_key: pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    private_key: secrets.seal(pair.privateKey.export({ type: 'pkcs8', format: 'der' }), `dkim_key ${dkimId}`),
    seen_at: at,
    created_at: at,
  })

  const webhookId = newId('wh', at)
  const webhookSecret = 'whsec_Zmlyc3Qgc2NoZW1hIHNlY3JldA=='
  insert('webhook', {
    id: webhookId,
    account_id: accountId,
    url: 'https://app.example/hook',
    events: ',email.delivered,',
    payload: 'standard',
    sandbox: 0,
    status: 'enabled',
    secret: secrets.seal(Buffer.from(webhookSecret), `webhook ${webhookId}`),
    after_seq: 0,
    created_at: at,
    updated_at: at,
  })
  insert('suppression', {
    id: newId('sup', at),
    account_id: accountId,
    address: 'gone@rcpt.example',
    origin: 'bounce',
    topic: '',
    sandbox: 0,
    reason: '550 5.1.1 No such user',
    created_at: at,
  })

  const email = (name: string, recipient: Record<string, unknown>): string => {
    const id = newId('em', at)
    const recipientId = newId('rcp', at)
    const forwardPath = `${name}@rcpt.example`
    const bytes = Buffer.from(
      `From: app@old.example\r\nTo: ${forwardPath}\r\nSubject: ${name}\r\nMessage-ID: <${id}@old.example>\r\n` +
        `Date: ${new Date(at).toUTCString().replace('GMT', '+0000')}\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nHello\r\n`,
    )
    insert('message', {
      id,
      account_id: accountId,
      domain_id: domainId,
      source: 'api',
      sandbox: 0,
      header_from: 'app@old.example',
      header_to: JSON.stringify([forwardPath]),
      header_cc: '[]',
      reply_to: '[]',
      subject: name,
      message_id_header: `<${id}@old.example>`,
      size: bytes.length,
      body_type: '7bit',
      smtputf8: 0,
      tags: '[{"name":"kind","value":"old"}]',
      metadata: '{}',
      created_at: at,
    })
    insert('message_tag', { message_id: id, name: 'kind', value: 'old' })
    insert('content', { message_id: id, chunk: 0, bytes })
    const names = {
      id: recipientId,
      message_id: id,
      account_id: accountId,
      forward_path: forwardPath,
      destination: 'rcpt.example',
      type: 'to',
    }
    insert('recipient', { ...names, state: 'queued', due_at: at, expires_at: now + 100 * hour, ...recipient })
    const event = (type: string, more: object): void =>
      insert('event', {
        id: newId('evt', at),
        account_id: accountId,
        message_id: id,
        recipient_id: recipientId,
        type,
        sandbox: 0,
        created_at: at,
        data: JSON.stringify({ email_id: id, to: forwardPath, subject: name, ...more }),
      })
    event('email.queued', { queued_at: new Date(at).toISOString() })
    if (recipient['state'] === 'delivered') event('email.delivered', { delivered_at: new Date(at).toISOString() })
    return id
  }
  const reply = { last_response: '451 4.7.1 Later', smtp_code: 451, enhanced_status: '4.7.1' }
  return {
    accountId,
    token: key('full_access'),
    operatorToken: key('operator'),
    webhookSecret,
    // As a process left it that was killed.
    fresh: email('fresh', { owner: 'boot_killed' }),
    deferred: email('deferred', { state: 'deferred', attempts: 1, due_at: now + minute, sent_at: at, ...reply }),
    delivered: email('delivered', { state: 'delivered', attempts: 1, due_at: null, sent_at: at, delivered_at: at }),
  }
}

import type { Secrets } from '../account/key-file.ts'
import { parseEventsText } from './event-subscription.ts'
import { openSigningKey } from './signing-key.ts'
import type { BasicAuth, SealedSecrets, Webhook, WebhookRow } from './webhook-store.ts'

const secretContext = (id: string): string => `webhook ${id}`

export function sealedSecrets(
  { id, secret, previousSecret, signingKey, basicAuth }: Webhook,
  secrets: Pick<Secrets, 'seal'>,
): SealedSecrets {
  const seal = (bytes: Uint8Array): Uint8Array => secrets.seal(bytes, secretContext(id))
  return {
    secret: seal(Buffer.from(secret)),
    previousSecret: previousSecret === null ? null : seal(Buffer.from(previousSecret)),
    signingKey: signingKey && seal(signingKey.sealable),
    basicAuth: basicAuth && seal(Buffer.from(JSON.stringify(basicAuth))),
  }
}

/** @throws SternaError `configuration` where the key file is another one */
export function webhookOfRow(row: WebhookRow, secrets: Pick<Secrets, 'open'>): Webhook {
  const bytes = (sealed: Uint8Array): Uint8Array => secrets.open(sealed, secretContext(row.id))
  const open = (sealed: Uint8Array): string => Buffer.from(bytes(sealed)).toString()
  return {
    id: row.id,
    accountId: row.account_id,
    sandbox: row.sandbox === 1,
    url: row.url,
    events: parseEventsText(row.events),
    description: row.description,
    payload: row.payload,
    includeBots: row.include_bots === 1,
    status: row.status,
    disabledReason: row.disabled_reason,
    secret: open(row.secret),
    previousSecret: row.previous_secret === null ? null : open(row.previous_secret),
    previousExpiresAt: row.previous_expires_at,
    signingKey: row.signing_key && openSigningKey(bytes(row.signing_key)),
    basicAuth: row.basic_auth && (JSON.parse(open(row.basic_auth)) as BasicAuth),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

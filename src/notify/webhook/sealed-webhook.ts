import type { Secrets } from '../../senders/account/key-file.ts'
import { parseEventsText } from './event-subscription.ts'
import { openSigningKey } from './signing-key.ts'
import type { BasicAuth } from './webhook-object.ts'
import type { SealedSecrets, StoredWebhook, Webhook } from './webhook-store.ts'

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
export function openedWebhook(stored: StoredWebhook, secrets: Pick<Secrets, 'open'>): Webhook {
  const bytes = (sealed: Uint8Array): Uint8Array => secrets.open(sealed, secretContext(stored.id))
  const open = (sealed: Uint8Array): string => Buffer.from(bytes(sealed)).toString()
  return {
    ...stored,
    events: parseEventsText(stored.events),
    secret: open(stored.secret),
    previousSecret: stored.previousSecret === null ? null : open(stored.previousSecret),
    signingKey: stored.signingKey && openSigningKey(bytes(stored.signingKey)),
    basicAuth: stored.basicAuth && (JSON.parse(open(stored.basicAuth)) as BasicAuth),
  }
}

import { useState } from 'preact/hooks'
import { invalidate } from '../api/cache.ts'
import { call } from '../api/client.ts'
import { ActionButton } from '../parts/button.tsx'
import { CopyValue } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { t } from '../texts/texts.ts'
import { Connect } from './connect.tsx'

/** How an app hands over mail that ends in the sandbox: a key, and where to send to by SMTP or the API. */
export function SandboxConnect({ onClose }: { onClose(): void }) {
  const [token, setToken] = useState<string | null>(null)
  const make = async (): Promise<void> => {
    const body = { name: t.nav.sandbox, permission: 'sending_access', sandbox: true }
    setToken((await call<{ token: string }>('/api/api-keys', { method: 'POST', body })).token)
    invalidate('/api/api-keys')
  }
  return (
    <Dialog heading={t.sandbox.connectHeading} onClose={onClose} wide>
      <p>{t.sandbox.connectText}</p>
      {token === null ? (
        <p>
          <ActionButton look="main" text={t.sandbox.makeKey} icon="key" run={make} />
        </p>
      ) : (
        <div class="token">
          <CopyValue value={token} name={t.keys.made} />
          <p class="muted">{t.keys.once}</p>
        </div>
      )}
      <Connect token={token} from="app@example.com" to="delivered@simulator.test" />
    </Dialog>
  )
}

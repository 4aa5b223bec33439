import { invalidate } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { ApiKey } from '../api/types.ts'
import { Button } from '../parts/button.tsx'
import { CopyValue } from '../parts/controls.tsx'
import { Field, useFields } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { t } from '../texts/texts.ts'

interface KeyStepFrame {
  apiKey: ApiKey | undefined
  /** Of a key that was made just now, until the user has kept it. */
  token: string | null
  onMade(token: string): void
  onKept(): void
}

/** The first key. Its token is shown once. */
export function KeyStep({ apiKey, token, onMade, onKept }: KeyStepFrame) {
  if (token !== null) return <Token token={token} onKept={onKept} />
  if (apiKey === undefined) return <MakeKey onMade={onMade} />
  return <p class="sum">{t.welcome.keyMade(apiKey.name, t.keys.permissions[apiKey.permission] ?? apiKey.permission)}</p>
}

function MakeKey({ onMade }: { onMade(token: string): void }) {
  const { values, field } = useFields({ name: t.welcome.keyName })
  const make = async (): Promise<void> => {
    const body = { ...values, permission: 'sending_access' }
    onMade((await call<{ token: string }>('/api/api-keys', { method: 'POST', body })).token)
    invalidate('/api/api-keys')
  }
  return (
    <Form main="name" button={t.keys.make} run={make} disabled={values.name.trim() === ''}>
      <Field {...field('name')} label={t.keys.nameLabel} hint={t.welcome.keyHint} maxLength={100} />
    </Form>
  )
}

const Token = ({ token, onKept }: { token: string; onKept(): void }) => (
  <section class="panel" aria-label={t.keys.made}>
    <div class="body token" role="status">
      <p>
        <b>{t.keys.made}.</b> {t.keys.once}
      </p>
      <CopyValue value={token} name={t.keys.made} />
      <p>
        <Button look="main" text={t.keys.kept} onClick={onKept} />
      </p>
    </div>
  </section>
)

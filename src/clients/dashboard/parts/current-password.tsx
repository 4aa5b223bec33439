import { session } from '../api/client.ts'
import { t } from '../texts/texts.ts'
import { Field } from './fields.tsx'

/** Asks the user for the password again; a password manager sees whose it is. */
export const CurrentPassword = ({ hint, ...field }: { value: string; onValue(value: string): void; hint?: string }) => (
  <>
    <input type="text" autocomplete="username" value={session.value?.user.email ?? ''} readonly hidden />
    <Field {...field} name="password" label={t.me.currentPassword} type="password" autocomplete="current-password" hint={hint} />
  </>
)

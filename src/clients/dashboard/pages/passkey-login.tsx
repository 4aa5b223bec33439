import { logInByPasskey } from '../api/client.ts'
import { Fault } from '../parts/answer.tsx'
import { Button, useAction } from '../parts/button.tsx'
import { usePasskeysWork, showPasskey } from '../show-passkey.ts'
import { t } from '../texts/texts.ts'

/** The button for those who have a passkey; nothing where passkeys cannot work. */
export function PasskeyLogin() {
  const { busy, error, start } = useAction(async () => logInByPasskey(await showPasskey()))
  if (!usePasskeysWork()) return null
  const faults: Record<string, string> = { passkey_canceled: t.passkeys.canceled, invalid_credentials: t.passkeys.wrong }
  return (
    <>
      {error && <Fault text={faults[error.code] ?? (error.message || t.offline)} />}
      <Button text={t.passkeys.logIn} busy={busy} onClick={() => start()} />
    </>
  )
}

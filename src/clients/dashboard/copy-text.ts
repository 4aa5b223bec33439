/**
 * Copies a text. Over plain HTTP, but for localhost, browsers have no `navigator.clipboard`: what is selected is copied then, from a field
 * within the open dialog, since nothing else can have the focus.
 * @throws Error where the browser does not allow it
 */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const focused = document.activeElement as HTMLElement | null
  const field = document.createElement('textarea')
  field.className = 'hidden'
  field.readOnly = true
  field.value = text
  const dialogs = document.querySelectorAll('dialog[open]')
  ;(dialogs[dialogs.length - 1] ?? document.body).append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  focused?.focus()
  if (!isCopied) throw new Error('The browser does not copy.')
}

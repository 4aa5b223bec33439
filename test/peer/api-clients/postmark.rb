# Sends an email with the mail gem and postmark-gem for each line of the standard input, as `api-clients.test.ts` describes them, and
# answers with a line.
require 'json'
require 'mail'
require 'postmark'
require 'uri'

def answer_to(given)
  email = given['email']
  server = URI.parse(given['url'])
  options = { api_token: given['key'], host: server.host, port: server.port, secure: server.scheme == 'https', path_prefix: server.path }

  message = Mail.new(charset: 'UTF-8') do
    from email['from']
    to email['to']
    cc email['cc'] if email['cc']
    bcc email['bcc'] if email['bcc']
    reply_to email['replyTo'] if email['replyTo']
    subject email['subject'] if email['subject']
    tag email['tags'].first if email['tags']
    (email['headers'] || {}).each { |name, value| header[name] = value }
  end
  message.metadata = email['metadata'] if email['metadata']
  message.track_opens = email['opens'] if email.key?('opens')
  message.track_links = email['clicks'] ? :html_and_text : :none if email.key?('clicks')
  html = email['html']
  (email['attachments'] || []).each do |file|
    content = file['content'].unpack1('m')
    next message.attachments[file['filename']] = { mime_type: file['type'], content: content } unless file['cid']

    message.attachments.inline[file['filename']] = { mime_type: file['type'], content: content }
    html = html.sub("cid:#{file['cid']}", message.attachments[file['filename']].url)
  end
  if email['template']
    message.template_alias email['template']
    message.template_model email['variables']
  else
    message.text_part = Mail::Part.new { content_type 'text/plain; charset=UTF-8'; body email['text'] } if email['text']
    message.html_part = Mail::Part.new { content_type 'text/html; charset=UTF-8'; body html } if html
  end
  message.delivery_method Mail::Postmark, options

  answer = { version: Postmark::VERSION }
  begin
    message.deliver!
    answer[:id] = message.postmark_response['MessageID']
    answer[:message] = message.postmark_response['Message']
  rescue Postmark::InactiveRecipientError => e
    answer[:error] = e.message
    answer[:inactive] = true
  rescue StandardError => e
    answer[:error] = e.message
  end
  answer
end

$stdout.sync = true
$stdin.each_line { |line| puts JSON.generate(answer_to(JSON.parse(line))) }

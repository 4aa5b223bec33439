use strict;
use warnings;
use Email::MIME;
use Email::Sender::Simple qw(sendmail);
use Email::Sender::Transport::SMTP;
use Encode qw(decode);

sub content { open my $file, '<:raw', $_[0] or die $!; local $/; <$file> }

my $message = Email::MIME->create(
    header_str => [From => $ENV{FROM}, To => $ENV{TO}, Subject => decode('UTF-8', $ENV{SUBJECT})],
    parts => [
        Email::MIME->create(
            attributes => { content_type => 'text/plain', charset => 'UTF-8', encoding => '8bit' },
            body_str => decode('UTF-8', content($ENV{TEXT})),
        ),
        Email::MIME->create(
            attributes => { content_type => 'application/octet-stream', disposition => 'attachment', filename => decode('UTF-8', $ENV{FILENAME}), encoding => 'base64' },
            body => content($ENV{ATTACHMENT}),
        ),
    ],
);
# Net::SSLeay writes a string as Perl holds it, and what has touched a decoded one is held as UTF-8 of its bytes: it would wait for ever.
my $bytes = $message->as_string;
utf8::downgrade($bytes);
sendmail($bytes, {
    transport => Email::Sender::Transport::SMTP->new({
        host => $ENV{HOST},
        port => $ENV{PORT},
        ssl => 'starttls',
        ssl_options => { SSL_verify_mode => 0 },
        sasl_username => 'any',
        sasl_password => $ENV{KEY},
    }),
});

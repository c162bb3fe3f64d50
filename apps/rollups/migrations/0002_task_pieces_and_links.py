
import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('rollups', '0001_initial'),
    ]

    operations = [
        migrations.DeleteModel('TaskHour'),
        migrations.CreateModel(
            name='CallLink',
            fields=[
                ('pk', models.CompositePrimaryKey('hour', 'other', blank=True, editable=False, primary_key=True, serialize=False)),
                ('hour', models.DateTimeField()),
                ('other', models.DateTimeField()),
                ('checksum', models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='TaskHour',
            fields=[
                ('pk', models.CompositePrimaryKey('task_key', 'hour', blank=True, editable=False, primary_key=True, serialize=False)),
                ('task_key', models.BigIntegerField()),
                ('hour', models.DateTimeField()),
                ('first_started_us', models.BigIntegerField(help_text='Before the hour where that request only runs over into it.')),
                ('team_id', models.IntegerField(help_text='Team, endpoint and model of that request.')),
                ('endpoint_id', models.IntegerField()),
                ('model_id', models.IntegerField()),
                ('last_attempt', models.SmallIntegerField(help_text='Highest client attempt that started in the hour; 0: none known.')),
                ('escalated', models.SmallIntegerField(help_text='1 if an escalation started in the hour.')),
            ],
        ),
        migrations.CreateModel(
            name='TaskPieces',
            fields=[
                ('hour', models.DateTimeField(primary_key=True, serialize=False)),
                ('task_key', models.BinaryField()),
                ('cohort', models.BinaryField()),
                ('cohorts', models.BinaryField()),
                ('piece_task', models.BinaryField()),
                ('piece_group', models.BinaryField()),
                ('units', models.BinaryField()),
                ('dimensions', models.BinaryField()),
            ],
        ),
        migrations.AddField(
            model_name='foldedhour',
            name='decide_again',
            field=models.BooleanField(default=False, help_text='Tasks of the hour have new outcomes or new tries.'),
        ),
        migrations.AddField(
            model_name='foldedhour',
            name='fold_again',
            field=models.BooleanField(default=False, help_text="Another hour has learned what this one's facts rest on."),
        ),
        migrations.AddField(
            model_name='replicahour',
            name='evidence',
            field=models.DateTimeField(help_text='First sign in this hour that the replica was there.', null=True),
        ),
        migrations.AddIndex(
            model_name='replicahour',
            index=models.Index(fields=['replica_id', 'evidence'], name='rollups_rep_replica_796ff6_idx'),
        ),
        migrations.AddIndex(
            model_name='taskhour',
            index=django.contrib.postgres.indexes.BrinIndex(autosummarize=True, fields=['hour'], name='rollups_tas_hour_9604f7_brin', pages_per_range=16),
        ),
    ]
